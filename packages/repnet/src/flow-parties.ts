/** Interfaces of the objects that a flow calls: the application's socket, and the server's table of flows. */
import type { Budget } from './budget';
import type { Flow } from './flow';
import type { Leg } from './leg';
import type { FlowSettings } from './settings';
import type { Mode, Role } from './state-machine';

/** The application's side of a flow. */
export interface FlowHost {
  /** The flow is open: the socket is connected (client) or can be announced (server). Called once. */
  flowOpened(): void;
  /** New bytes, in order. @returns false to stop further bytes until `resume()` */
  flowData(chunk: Buffer): boolean;
  /** The peer's end of stream. Called once, after all bytes. */
  flowEof(): void;
  /** No leg carries bytes any more. Called once. The application has to see the error. */
  flowEnded(error: Error | undefined): void;
  /** A leg starts to carry bytes: socket options have to be applied to it. */
  legAttached(leg: Leg): void;
  /** The last connection is closed, and the flow has ended. Called once. */
  flowClosed(): void;
}

/** Table of flows of a server. A client has none. */
export interface FlowRegistry {
  enterWaitingList(flow: Flow): void;
  leaveWaitingList(flow: Flow): void;
  isWaiting(flow: Flow): boolean;
  bury(flow: Flow): void;
}

/** Source of new second legs for a client's flow that uses one leg. */
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
  /** Server: source address of the flow's first leg. */
  from?: string | undefined;
  budget?: Budget;
}
