/** Interfaces of the objects that a flow calls: the application's socket, and the server's table of flows. */
import type { Budget } from './budget';
import type { Flow } from './flow';
import type { Leg } from './leg';
import type { FlowSettings } from './settings';
import type { Mode, Role } from './state-machine';

/** Application's end of a flow. */
export interface FlowHost {
  /**
   * Called once, when the flow is open. A client's socket is then connected.
   * A server can then give its socket to the application.
   */
  flowOpened(): void;
  /** Called with new bytes, in order. @returns false to stop further bytes until `resume()` */
  flowData(chunk: Buffer): boolean;
  /** Called once after all bytes, when the peer has ended its direction. */
  flowEof(): void;
  /** Called once, when no connection carries bytes any more. The application has to receive the error. */
  flowEnded(error: Error | undefined): void;
  /** Called when a connection starts to carry bytes. The host applies its socket options to the connection. */
  legAttached(leg: Leg): void;
  /** Called once, when the flow has ended and its last connection is closed. */
  flowClosed(): void;
}

/** Table of a server's flows. A client has none. */
export interface FlowRegistry {
  enterWaitingList(flow: Flow): void;
  leaveWaitingList(flow: Flow): void;
  isWaiting(flow: Flow): boolean;
  bury(flow: Flow): void;
}

/** Source of new second connections for a client's flow that uses only one connection. */
export interface SecondLegs {
  start(index: 0 | 1): void;
  /** Opens a connection that replaces a slower one. The slower one stays until the server has accepted the new one. */
  replace(index: 0 | 1): void;
  /** Whether a connection that replaces a slower one is on its way. */
  readonly isReplacing: boolean;
  wasUseful(): void;
}

export interface FlowOptions {
  id: string;
  role: Role;
  mode: Mode;
  settings: FlowSettings;
  registry?: FlowRegistry;
  /** Source address of the flow's first connection, at a server. */
  from?: string | undefined;
  budget?: Budget;
}
