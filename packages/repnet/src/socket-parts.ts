/** Parts of a socket: its handle, its inactivity timer, and its errors with the usual codes. */

import { AsyncResource } from 'node:async_hooks';

import type net = require('node:net');

export function systemError(message: string, code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(message), { code });
}

/** Whether a write that is pending when its socket ends reports an error to its callback, as since Node 22. */
const REPORTS_CANCELED_WRITES = Number.parseInt(process.versions.node, 10) >= 22;

/** Returns the error of a write that was pending at the end of its socket. */
export function canceledWrite(): NodeJS.ErrnoException | undefined {
  return REPORTS_CANCELED_WRITES ? Object.assign(systemError('write ECANCELED', 'ECANCELED'), { syscall: 'write' }) : undefined;
}

/**
 * Handle of a replicated socket, with a part of the interface of Node's TCP handle. A call applies to every connection.
 */
export class FlowHandle {
  readonly #each: (apply: (socket: net.Socket) => void) => void;
  #resource: AsyncResource | undefined;
  /**
   * Reader of the handle. http's agent sets it while a connection is idle.
   * The agent then closes the connection if bytes arrive without a request (Node 22.23, 24.21).
   */
  onread: { readonly name: string } | undefined;
  /** Whether the handle is already being read. http's agent checks this property. */
  readonly reading = true;

  constructor(each: (apply: (socket: net.Socket) => void) => void) {
    this.#each = each;
  }

  /**
   * Returns the async id of the handle. http's agent runs the requests that wait for a socket in this async context.
   */
  getAsyncId(): number {
    this.#resource ??= new AsyncResource('RepnetFlow');
    return this.#resource.asyncId();
  }

  /** Returns whether bytes that arrive now belong to no request. */
  get isGuarded(): boolean {
    return this.onread?.name === 'freeSocketOnReadGuard';
  }

  /** @returns 0, as Node's handle does if there is no error */
  setNoDelay(enable: boolean): number {
    this.#each((socket) => socket.setNoDelay(enable));
    return 0;
  }

  /** @param delay in seconds */
  setKeepAlive(enable: boolean, delay: number): number {
    this.#each((socket) => socket.setKeepAlive(enable, delay * 1000));
    return 0;
  }
}

const MAX_TIMEOUT = 2 ** 31 - 1;

/** Timer that fires each time no byte has moved for the set time. It does not keep the process alive. */
export class InactivityTimer {
  readonly #fired: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(fired: () => void) {
    this.#fired = fired;
  }

  /**
   * @param timeout in milliseconds; 0: never
   * @throws the errors of `net.Socket.setTimeout()`
   */
  set(timeout: number): void {
    if (typeof timeout !== 'number') {
      const found = timeout === null ? 'null' : `type ${typeof timeout}`;
      const error = new TypeError(`The "msecs" argument must be of type number. Received ${found}`);
      throw Object.assign(error, { code: 'ERR_INVALID_ARG_TYPE' });
    }
    if (!(timeout >= 0 && Number.isFinite(timeout))) {
      const error = new RangeError(`The value of "msecs" is out of range. It must be a non-negative finite number. Received ${timeout}`);
      throw Object.assign(error, { code: 'ERR_OUT_OF_RANGE' });
    }
    this.stop();
    if (timeout > 0) this.#timer = setTimeout(() => this.#fire(), Math.min(timeout, MAX_TIMEOUT)).unref();
  }

  touch(): void {
    this.#timer?.refresh();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #fire(): void {
    this.#fired();
  }
}
