/** The stable codes of the errors that repnet itself raises; errors of the kernel and of `net` keep theirs. */
export type RepnetErrorCode =
  /** A configuration value is not allowed; the message names the place, what was found and what is allowed. */
  | 'ERR_REPNET_CONFIG'
  /** The two legs of a flow carried different bytes, or ended cleanly at different lengths. */
  | 'ERR_REPNET_DIVERGED'
  /** What answered on the replica port is no repnet server, or refused the flow. */
  | 'ERR_REPNET_HELLO'
  /** A leg was not established within the leg deadline. */
  | 'ERR_REPNET_LEG_DEADLINE'
  /** Nobody is left to send to, and more was written than may be kept for the leg that has not come yet. */
  | 'ERR_REPNET_ARCHIVE_FULL';

export class RepnetError extends Error {
  readonly code: RepnetErrorCode;

  constructor(code: RepnetErrorCode, message: string) {
    super(message);
    this.name = 'RepnetError';
    this.code = code;
  }
}
