/**
 * Diagnostics channels. A message is created only if a channel has a subscriber.
 * All messages about flows contain `role` and `flowId`: 32 hexadecimal digits that are equal at both ends.
 * The `flowId` is a hash of the flow's identifier, so a subscriber cannot use it to join the flow.
 */
import diagnostics = require('node:diagnostics_channel');

import type { FlowEvent, Mode, Role } from './state-machine';

interface OfFlow {
  flowId: string;
  role: Role;
}

/** Reason why a connection was given up, or why a flow uses only one connection. */
export type Reason =
  | FlowEvent
  | 'foreign'
  | 'other_instance'
  | 'refused'
  | 'hello_timeout'
  | 'unpaired'
  | 'early_fin'
  | 'other_address'
  | 'behind'
  | 'replaced'
  | 'not_needed'
  | 'server_closed';

export interface Messages {
  /** One of a flow's connections was started (client) or accepted with a valid hello (server). */
  'repnet:leg:open': OfFlow & { leg: number; address: string | undefined; port: number | undefined };
  /** The second connection carries bytes, too. `message` is the number of earlier second connections of this flow. */
  'repnet:leg:pair': OfFlow & { leg: number; message: number };
  /** One of a flow's connections was given up. */
  'repnet:leg:drop': OfFlow & { leg: number; reason: Reason; error: Error | undefined };
  /** A connection arrived for a flow that accepts no more connections, and was reset. */
  'repnet:leg:late': OfFlow & { leg: number };
  /** The flow was given to the application. */
  'repnet:flow:open': OfFlow & { leg: number; mode: Mode };
  /** The flow uses only one connection from this moment. */
  'repnet:flow:chosen': OfFlow & { leg: number; reason: FlowEvent };
  /** No connection of the flow carries bytes any more. */
  'repnet:flow:end': OfFlow & { error: Error | undefined; delivered: number; written: number };
  /** One connection ended cleanly before the last byte of the other connection, or carried different bytes. */
  'repnet:flow:diverged': OfFlow & { leg: number; offset: number };
  /** A flow to a listed target uses one plain connection. */
  'repnet:flow:plain': { host: string; port: number; reason: PlainReason };
  /** A probe or a hello has shown whether a target is capable. */
  'repnet:capability': { address: string; port: number; capable: boolean; reason: string };
}

/** Reason why a flow to a listed target is plain. */
export type PlainReason = 'unknown' | 'incapable' | 'doubtful' | 'silent' | 'budget' | 'fallback' | 'lookup';

type Channels = { [Name in keyof Messages]: diagnostics.Channel };
const NAMES: ReadonlyArray<keyof Messages> = [
  'repnet:leg:open',
  'repnet:leg:pair',
  'repnet:leg:drop',
  'repnet:leg:late',
  'repnet:flow:open',
  'repnet:flow:chosen',
  'repnet:flow:end',
  'repnet:flow:diverged',
  'repnet:flow:plain',
  'repnet:capability',
];
const channels = Object.fromEntries(NAMES.map((name) => [name, diagnostics.channel(name)])) as Channels;

export function publish<Name extends keyof Messages>(name: Name, message: () => Messages[Name]): void {
  const channel = channels[name];
  if (channel.hasSubscribers) channel.publish(message());
}
