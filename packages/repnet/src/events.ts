/**
 * The diagnostics channels. A message is built only if a channel has a subscriber. All messages of flows carry `role` and `flowId`, 32
 * hexadecimal digits that are alike at both ends and made of the flow's id by a hash: who reads them cannot join the flow.
 */
import diagnostics = require('node:diagnostics_channel');

import type { FlowEvent, Mode, Role } from './state-machine';

interface OfFlow {
  flowId: string;
  role: Role;
}

/** Why a leg was dropped, or a flow runs on one leg. */
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
  /** A connection for a leg was started (client) or accepted with a valid hello (server). */
  'repnet:leg:open': OfFlow & { leg: number; address: string | undefined; port: number | undefined };
  /** The second leg carries bytes too; `message` counts the second legs that this connection had before. */
  'repnet:leg:pair': OfFlow & { leg: number; message: number };
  /** A leg was given up. */
  'repnet:leg:drop': OfFlow & { leg: number; reason: Reason; error: Error | undefined };
  /** A leg came for a flow that takes none any more, and was reset. */
  'repnet:leg:late': OfFlow & { leg: number };
  /** The flow was given to the application. */
  'repnet:flow:open': OfFlow & { leg: number; mode: Mode };
  /** The flow settled on one leg. */
  'repnet:flow:chosen': OfFlow & { leg: number; reason: FlowEvent };
  /** No leg carries bytes any more. */
  'repnet:flow:end': OfFlow & { error: Error | undefined; delivered: number; written: number };
  /** One leg ended cleanly short of the other, or carried other bytes. */
  'repnet:flow:diverged': OfFlow & { leg: number; offset: number };
  /** A listed target was connected to over one plain connection. */
  'repnet:flow:plain': { host: string; port: number; reason: PlainReason };
  /** What a probe or a hello taught about a target. */
  'repnet:capability': { address: string; port: number; capable: boolean; reason: string };
}

/** Why a flow to a listed target runs plain. */
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
