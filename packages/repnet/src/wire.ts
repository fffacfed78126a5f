/**
 * Hello of `pairing: 'hello'`, version 1, as defined in docs/repnet-wire.md.
 * The tests compare this module with spec/wire-vectors.json.
 */
import type { Mode } from './state-machine';

export const HELLO_BYTES = 32;
/** Additional length in bytes of a preamble that rejoins: three numbers. */
export const REJOIN_BYTES = 24;
export const VERSION = 1;

const PREAMBLE_MAGIC = Buffer.from('d7524550' + '4e450d0a', 'hex');
const BANNER_MAGIC = Buffer.from('e962616e' + '6e650d0a', 'hex');
const FLAG_PROBE = 0x01;
const FLAG_REPSYN = 0x02;
const FLAG_REJOIN = 0x04;
const FLAGS = [0, FLAG_PROBE, FLAG_REPSYN, FLAG_REJOIN];
const ZERO_ID = '0'.repeat(32);

export const STATUSES = ['opened', 'joined', 'probed', 'unsupported', 'busy'] as const;
export type Status = (typeof STATUSES)[number];

/** Position at which a second connection joins a flow that was idle. */
export interface Rejoin {
  /**
   * Number of the second connection, counted from 1.
   * The client counts all second connections that it has opened for this flow after its first pair.
   */
  message: number;
  /** Number of bytes of the application from client to server before the first byte of this connection. */
  sent: number;
  /** Number of bytes of the application from server to client before the first byte of this connection. */
  received: number;
}

export interface Preamble {
  version: number;
  probe: boolean;
  mode: Mode;
  leg: number;
  /** Identifier of the flow: 32 hexadecimal digits. */
  flowId: string;
  rejoin?: Rejoin;
}

export interface Banner {
  version: number;
  status: Status;
  leg: number;
  /** First 8 hexadecimal digits of the flow's identifier. */
  flowCheck: string;
  /** Identifier of the server: 32 hexadecimal digits. */
  instanceId: string;
}

/** First wrong field of a hello, or `incomplete` if more bytes are needed. */
export type Rejection =
  | 'incomplete'
  | 'magic'
  | 'version'
  | 'flags'
  | 'status'
  | 'leg'
  | 'reserved'
  | 'flow_id'
  | 'offsets'
  | 'instance_id';

/**
 * Returns a hello that contains zeros after its magic. The memory is from Node's pool.
 * Separate memory would cost more than all writes into the hello.
 */
function blank(magic: Buffer, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length).fill(0);
  bytes.set(magic);
  return bytes;
}

export function encodePreamble(preamble: Preamble): Buffer {
  const { rejoin } = preamble;
  const bytes = blank(PREAMBLE_MAGIC, HELLO_BYTES + (rejoin ? REJOIN_BYTES : 0));
  bytes[8] = preamble.version;
  bytes[9] = (preamble.probe ? FLAG_PROBE : 0) | (preamble.mode === 'repsyn' ? FLAG_REPSYN : 0) | (rejoin ? FLAG_REJOIN : 0);
  bytes[10] = preamble.leg;
  bytes.write(preamble.flowId, 16, 'hex');
  if (rejoin)
    [rejoin.message, rejoin.sent, rejoin.received].forEach((value, at) => {
      writeNumber(bytes, HELLO_BYTES + 8 * at, value);
    });
  return bytes;
}

export function encodeBanner(banner: Banner): Buffer {
  const bytes = blank(BANNER_MAGIC, HELLO_BYTES);
  bytes[8] = banner.version;
  bytes[9] = STATUSES.indexOf(banner.status);
  bytes[10] = banner.leg;
  bytes.write(banner.flowCheck, 12, 'hex');
  bytes.write(banner.instanceId, 16, 'hex');
  return bytes;
}

function magicRejection(bytes: Buffer, magic: Buffer): Rejection | undefined {
  const there = Math.min(bytes.length, magic.length);
  return bytes.compare(magic, 0, there, 0, there) === 0 ? undefined : 'magic';
}

function writeNumber(bytes: Buffer, offset: number, value: number): void {
  bytes.writeBigUInt64BE(BigInt(value), offset);
}

/** @returns NaN for a value that JavaScript cannot represent exactly */
function readNumber(bytes: Buffer, offset: number): number {
  const value = Number(bytes.readBigUInt64BE(offset));
  return Number.isSafeInteger(value) ? value : Number.NaN;
}

/** Returns the length of a preamble in bytes. */
export function preambleLength({ rejoin }: Preamble): number {
  return rejoin ? HELLO_BYTES + REJOIN_BYTES : HELLO_BYTES;
}

/** Decodes the first 32 or 56 bytes. Fewer bytes are rejected as soon as they cannot become a preamble. */
export function decodePreamble(bytes: Buffer): Preamble | Rejection {
  const magic = magicRejection(bytes, PREAMBLE_MAGIC);
  if (magic) return magic;
  const [version, flags, leg] = [bytes[8], bytes[9], bytes[10]];
  if (version === undefined) return 'incomplete';
  if (version !== VERSION) return 'version';
  if (flags === undefined) return 'incomplete';
  if (!FLAGS.includes(flags)) return 'flags';
  if (leg === undefined) return 'incomplete';
  const probe = flags === FLAG_PROBE;
  if (leg > (probe ? 0 : 1)) return 'leg';
  for (let offset = 11; offset < 16 && offset < bytes.length; offset++) {
    if (bytes[offset] !== 0) return 'reserved';
  }
  if (bytes.length < HELLO_BYTES) return 'incomplete';
  const flowId = bytes.toString('hex', 16, HELLO_BYTES);
  if (flowId === ZERO_ID) return 'flow_id';
  const preamble: Preamble = { version, probe, mode: flags === FLAG_REPSYN ? 'repsyn' : 'repflow', leg, flowId };
  if (flags !== FLAG_REJOIN) return preamble;
  if (bytes.length < HELLO_BYTES + REJOIN_BYTES) return 'incomplete';
  const [message, sent, received] = [0, 8, 16].map((offset) => readNumber(bytes, HELLO_BYTES + offset)) as [number, number, number];
  if (!(message >= 1 && sent >= 0 && received >= 0)) return 'offsets';
  return { ...preamble, rejoin: { message, sent, received } };
}

/** Decodes the first 32 bytes. Fewer bytes are rejected as soon as they cannot become a banner. */
export function decodeBanner(bytes: Buffer): Banner | Rejection {
  const magic = magicRejection(bytes, BANNER_MAGIC);
  if (magic) return magic;
  const [version, code, leg, reserved] = [bytes[8], bytes[9], bytes[10], bytes[11]];
  if (version === undefined) return 'incomplete';
  if (version !== VERSION) return 'version';
  if (code === undefined) return 'incomplete';
  const status = STATUSES[code];
  if (status === undefined) return 'status';
  if (leg === undefined) return 'incomplete';
  if (leg > 1) return 'leg';
  if (reserved === undefined) return 'incomplete';
  if (reserved !== 0) return 'reserved';
  if (bytes.length < HELLO_BYTES) return 'incomplete';
  const instanceId = bytes.toString('hex', 16, HELLO_BYTES);
  if (instanceId === ZERO_ID) return 'instance_id';
  return { version, status, leg, flowCheck: bytes.toString('hex', 12, 16), instanceId };
}

/** Returns the answer to a preamble of an unsupported version. Its other fields are copied without a check. */
export function encodeUnsupported(preamble: Buffer, instanceId: string): Buffer {
  const leg = preamble[10] === 1 ? 1 : 0;
  const flowCheck = preamble.toString('hex', 16, 20).padEnd(8, '0');
  return encodeBanner({ version: VERSION, status: 'unsupported', leg, flowCheck, instanceId });
}
