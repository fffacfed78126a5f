/** What the tests of replication vary, and how they see that it took place. */
import diagnostics from 'node:diagnostics_channel';
import repnet from 'repnet';

export const PAIRINGS = ['hello', 'port'] as const;
export type Pairing = (typeof PAIRINGS)[number];

export const MODES = ['repflow', 'repsyn'] as const;
export type Mode = (typeof MODES)[number];

/** Bytes of the hello's preamble and of its banner (docs/repnet-wire.md). */
const HELLO_BYTES = 32;

/** How many bytes of a leg precede the application's, in either direction. */
export function headOf(pairing: Pairing): number {
  return pairing === 'hello' ? HELLO_BYTES : 0;
}

/** Flows that this process opened with two legs. */
export function replicatedFlows(): number {
  return repnet.stats().flows.opened;
}

/**
 * Settings for tests that decide themselves when something happens: no timeout of repnet comes in
 * between, and what one test taught about a port does not concern the next one that gets it.
 */
export const UNHURRIED = {
  waitingListTimeout: 600_000,
  helloTimeout: 600_000,
  tombstoneTime: 600_000,
  capabilityTtl: 1,
  incastLimit: Infinity,
  fallbackDelay: Infinity,
  idleTime: Infinity,
  adaptive: false,
};

/** For programs of their own, by environment: no flow leaves the replica port, and no hello is too late, however busy the machine is. */
export const UNHURRIED_ENV = { REPNET_FALLBACK_DELAY: 'Infinity', REPNET_LEG_DEADLINE: '600000', REPNET_HELLO_TIMEOUT: '600000' };

/** Resolves with the first message on a channel that is as wanted. Call it before what causes the message. */
export function published<Message>(channel: string, wanted: (message: Message) => boolean = () => true): Promise<Message> {
  return new Promise((resolve) => {
    const listen = (message: unknown): void => {
      if (!wanted(message as Message)) return;
      diagnostics.unsubscribe(channel, listen);
      resolve(message as Message);
    };
    diagnostics.subscribe(channel, listen);
  });
}
