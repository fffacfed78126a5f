/** Empty file for `--import`. A test that fails with this file fails with any preloaded file. */
export {};
