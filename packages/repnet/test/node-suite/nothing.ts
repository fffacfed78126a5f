/** File without effect for `--import`: a test that fails with it fails with any preloaded file. */
export {};
