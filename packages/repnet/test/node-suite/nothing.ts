/** For `--import` of a file that does nothing: what breaks with it breaks with any. */
export {};
