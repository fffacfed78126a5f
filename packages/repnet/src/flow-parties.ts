/** Whom a flow talks to: the application's socket, and the server's register of flows. */
import type { Budget } from './budget';
import type { Flow } from './flow';
import type { Leg } from './leg';
import type { FlowSettings } from './settings';
import type { Mode, Role } from './state-machine';

/** The application's side of a flow. */
export interface FlowHost {
  /** The flow may be used: connected (client), to be announced (server). Once. */
  flowOpened(): void;
  /** New bytes, in order. @returns false to hold back further ones until `resume()`. */
  flowData(chunk: Buffer): boolean;
  /** The peer's end of stream, once, after all bytes. */
  flowEof(): void;
  /** No leg carries bytes any more. Once. The error is one that the application has to see. */
  flowEnded(error: Error | undefined): void;
  /** A leg came to carry bytes: socket options are to be applied to it. */
  legAttached(leg: Leg): void;
  /** The last connection is closed, and the flow has ended. Once. */
  flowClosed(): void;
}

/** What the server keeps about flows; a client has none. */
export interface FlowRegistry {
  enterWaitingList(flow: Flow): void;
  leaveWaitingList(flow: Flow): void;
  isWaiting(flow: Flow): boolean;
  bury(flow: Flow): void;
}

/** What gives a client's settled flow a second leg again. */
export interface SecondLegs {
  start(index: 0 | 1): void;
  wasUseful(): void;
  wasUseless(): void;
}

export interface FlowOptions {
  id: string;
  role: Role;
  mode: Mode;
  settings: FlowSettings;
  registry?: FlowRegistry;
  /** A server's flow: where its first leg comes from. */
  from?: string | undefined;
  budget?: Budget;
}
