/** Parameters of the tests of replication, and checks that flows were replicated. */
import diagnostics from 'node:diagnostics_channel';
import repnet from 'repnet';

export const PAIRINGS = ['hello', 'port'] as const;
export type Pairing = (typeof PAIRINGS)[number];

export const MODES = ['repflow', 'repsyn'] as const;
export type Mode = (typeof MODES)[number];

/** Length in bytes of the hello's preamble, and also of its banner (docs/repnet-wire.md). */
const HELLO_BYTES = 32;

/** Returns the number of bytes on a connection before the application's bytes, in either direction. */
export function headOf(pairing: Pairing): number {
  return pairing === 'hello' ? HELLO_BYTES : 0;
}

/** Returns the number of flows that this process opened with two connections. */
export function replicatedFlows(): number {
  return repnet.stats().flows.opened;
}

/**
 * Settings for tests that control the time of each event. No timeout of repnet expires.
 * A test does not use a port's capability that an earlier test has stored.
 */
export const UNHURRIED = {
  waitingListTimeout: 600_000,
  helloTimeout: 600_000,
  tombstoneTime: 600_000,
  capabilityTtl: 1,
  incastLimit: Infinity,
  fallbackDelay: Infinity,
  legDeadline: 600_000,
  idleTime: Infinity,
  adaptive: false,
};

/**
 * Environment for separate programs.
 * Even on a busy machine, no flow falls back from the replica port, and no hello is too late.
 */
export const UNHURRIED_ENV = { REPNET_FALLBACK_DELAY: 'Infinity', REPNET_LEG_DEADLINE: '600000', REPNET_HELLO_TIMEOUT: '600000' };

/**
 * Resolves with the first message on a channel for which `wanted` is true.
 * Call it before the event that causes the message.
 */
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
