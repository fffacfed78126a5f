/**
 * Codes of the errors that repnet itself reports. The codes do not change.
 * Errors of the kernel and of `net` keep their codes.
 */
export type RepnetErrorCode =
  /**
   * A configuration value is not allowed. The message contains its location, the value found and the allowed values.
   */
  | 'ERR_REPNET_CONFIG'
  /** The runtime is not Node. */
  | 'ERR_REPNET_RUNTIME'
  /** The two connections of a flow carried different bytes, or ended cleanly at different lengths. */
  | 'ERR_REPNET_DIVERGED'
  /** The program on the replica port is not a repnet server, or refused the flow. */
  | 'ERR_REPNET_HELLO'
  /** No connection was established within the leg deadline. */
  | 'ERR_REPNET_LEG_DEADLINE'
  /**
   * The flow waits for a connection, and the application has written more bytes than may be kept for it (`archiveCap`).
   */
  | 'ERR_REPNET_ARCHIVE_FULL';

export class RepnetError extends Error {
  readonly code: RepnetErrorCode;

  constructor(code: RepnetErrorCode, message: string) {
    super(message);
    this.name = 'RepnetError';
    this.code = code;
  }
}
