/**
 * State machine of a RepNet flow (RepNet paper, section III, Tables I and II). It has no I/O, no clock and no memory.
 * `spec/state-machine.json` contains the same machine as a table, and defines its terms.
 * The tests compare this module with the table.
 */
export type Role = 'client' | 'server';
export type Mode = 'repflow' | 'repsyn';
export type State = 'ONE_CONN' | 'DUP_CONN' | 'CHOSEN' | 'ENDED';
/** State of the connection that an event does not concern. */
export type OtherLeg = 'live' | 'pending' | 'gone';

export type FlowEvent =
  | 'leg_established'
  | 'second_leg_joined'
  | 'rejoin_started'
  | 'choice_learned'
  | 'leg_failed'
  | 'leg_deadline'
  | 'waiting_list_timeout'
  | 'archive_over_threshold'
  | 'bytes_over_limit'
  | 'lag_over_cap'
  | 'leg_finished'
  | 'confirm_timeout'
  | 'both_closed'
  | 'late_leg'
  | 'abort'
  | 'diverged';

export type Action =
  | 'attach_leg'
  | 'open_flow'
  | 'enter_waiting_list'
  | 'leave_waiting_list'
  | 'keep_on_waiting_list'
  | 'start_archive'
  | 'replay_archive'
  | 'free_archive'
  | 'reset_leg'
  | 'reset_other_leg'
  | 'hold_error'
  | 'await_other_leg'
  | 'release_leg'
  | 'close_legs'
  | 'surface_error'
  | 'bury';

export interface Step {
  readonly next: State;
  readonly actions: readonly Action[];
}

const to = (next: State, ...actions: Action[]): Step => ({ next, actions });

/** First step of a flow (`start` in the table). */
export const START: Readonly<Record<Role, Step>> = {
  client: to('DUP_CONN', 'start_archive'),
  server: to('ONE_CONN', 'attach_leg', 'enter_waiting_list', 'start_archive', 'open_flow'),
};

const ABORTED = to('ENDED', 'close_legs', 'free_archive', 'bury');
const CLOSED = to('ENDED', 'free_archive', 'bury');
const SETTLE = to('CHOSEN', 'reset_leg', 'free_archive');

const ONE_CONN_SERVER = {
  joined: to('DUP_CONN', 'leave_waiting_list', 'attach_leg', 'replay_archive', 'free_archive'),
  joinedAlone: to('CHOSEN', 'leave_waiting_list', 'attach_leg', 'replay_archive', 'free_archive'),
  stopArchiving: to('CHOSEN', 'free_archive', 'keep_on_waiting_list'),
  timeout: to('CHOSEN', 'leave_waiting_list', 'free_archive'),
  timeoutAlone: to('ENDED', 'leave_waiting_list', 'free_archive', 'surface_error', 'bury'),
  full: to('ENDED', 'free_archive', 'surface_error', 'bury'),
  failed: to('ONE_CONN', 'reset_leg', 'hold_error'),
  late: to('ONE_CONN', 'reset_leg'),
};

function oneConn(event: FlowEvent, mode: Mode, other: OtherLeg): Step | undefined {
  const steps = ONE_CONN_SERVER;
  switch (event) {
    case 'second_leg_joined':
      return other === 'live' ? steps.joined : other === 'gone' ? steps.joinedAlone : undefined;
    case 'choice_learned':
      return mode === 'repsyn' && other === 'pending' ? steps.stopArchiving : undefined;
    case 'waiting_list_timeout':
      return other === 'live' ? steps.timeout : other === 'gone' ? steps.timeoutAlone : undefined;
    case 'archive_over_threshold':
      return other === 'live' ? steps.stopArchiving : other === 'gone' ? steps.full : undefined;
    case 'leg_failed':
      return other === 'pending' ? steps.failed : undefined;
    case 'leg_finished':
      return other === 'pending' ? CLOSED : undefined;
    case 'late_leg':
      return steps.late;
    case 'abort':
      return ABORTED;
    default:
      return undefined;
  }
}

const DUP_CONN = {
  firstOpened: to('DUP_CONN', 'attach_leg', 'replay_archive', 'open_flow'),
  secondOpened: to('DUP_CONN', 'attach_leg', 'replay_archive', 'free_archive'),
  raceWon: to('CHOSEN', 'reset_other_leg', 'attach_leg', 'replay_archive', 'free_archive', 'open_flow'),
  failedBeforeOther: to('CHOSEN', 'reset_leg'),
  failedAtServer: to('CHOSEN', 'reset_leg'),
  failedAfterOther: to('ENDED', 'reset_leg', 'free_archive', 'bury'),
  choice: to('CHOSEN', 'reset_other_leg', 'free_archive'),
  finishedFirst: to('DUP_CONN', 'await_other_leg'),
  finishedAlone: to('ENDED', 'reset_other_leg', 'free_archive'),
  released: to('DUP_CONN', 'release_leg'),
  confirmTimeout: to('ENDED', 'release_leg', 'free_archive', 'bury'),
  late: to('DUP_CONN', 'reset_leg'),
  diverged: to('ENDED', 'reset_leg', 'reset_other_leg', 'free_archive', 'surface_error', 'bury'),
};

function dupConn(event: FlowEvent, role: Role, mode: Mode, other: OtherLeg): Step | undefined {
  const steps = DUP_CONN;
  const client = role === 'client';
  switch (event) {
    case 'leg_established':
      if (!client) return undefined;
      if (mode === 'repsyn') return other === 'pending' ? steps.raceWon : undefined;
      return other === 'pending' ? steps.firstOpened : other === 'live' ? steps.secondOpened : undefined;
    case 'choice_learned':
      return !client && mode === 'repsyn' && other === 'live' ? steps.choice : undefined;
    case 'leg_failed':
      if (other === 'gone') return steps.failedAfterOther;
      if (other === 'live') return client ? SETTLE : steps.failedAtServer;
      return client ? steps.failedBeforeOther : undefined;
    case 'leg_deadline':
      if (!client || other === 'gone') return undefined;
      return other === 'live' ? SETTLE : steps.failedBeforeOther;
    case 'archive_over_threshold':
    case 'bytes_over_limit':
    case 'lag_over_cap':
      return client && mode === 'repflow' && other === 'live' ? SETTLE : undefined;
    case 'leg_finished':
      if (other === 'live') return client && mode === 'repsyn' ? undefined : steps.finishedFirst;
      return client && mode === 'repflow' && other === 'pending' ? steps.finishedAlone : undefined;
    case 'confirm_timeout':
      return other === 'gone' ? steps.confirmTimeout : other === 'live' ? steps.released : undefined;
    case 'both_closed':
      return CLOSED;
    case 'late_leg':
      return client ? undefined : steps.late;
    case 'abort':
      return ABORTED;
    case 'diverged':
      return steps.diverged;
    default:
      return undefined;
  }
}

const CHOSEN = {
  rejoinStarted: to('CHOSEN', 'start_archive'),
  rejoined: to('DUP_CONN', 'attach_leg', 'replay_archive', 'free_archive'),
  rejoinedAtServer: to('DUP_CONN', 'leave_waiting_list', 'attach_leg'),
  survivorOpened: to('CHOSEN', 'attach_leg', 'replay_archive', 'free_archive', 'open_flow'),
  deadline: to('ENDED', 'reset_leg', 'free_archive', 'surface_error'),
  failed: to('ENDED', 'reset_leg', 'free_archive', 'surface_error', 'bury'),
  released: to('ENDED', 'release_leg', 'free_archive', 'bury'),
  keep: to('CHOSEN', 'keep_on_waiting_list'),
  lateListed: to('CHOSEN', 'reset_leg', 'leave_waiting_list'),
  late: to('CHOSEN', 'reset_leg'),
};

function chosen(event: FlowEvent, role: Role, mode: Mode, other: OtherLeg, onWaitingList: boolean): Step | undefined {
  const steps = CHOSEN;
  const client = role === 'client';
  // The event concerns a second connection that the client opened for a flow that was idle.
  const rejoining = client && mode === 'repflow' && other === 'live';
  switch (event) {
    case 'rejoin_started':
      return rejoining ? steps.rejoinStarted : undefined;
    case 'leg_established':
      return rejoining ? steps.rejoined : client && other === 'gone' ? steps.survivorOpened : undefined;
    case 'second_leg_joined':
      return !client && mode === 'repflow' && other === 'live' ? steps.rejoinedAtServer : undefined;
    case 'leg_deadline':
      return rejoining ? SETTLE : client && other === 'gone' ? steps.deadline : undefined;
    case 'leg_failed':
      return rejoining ? SETTLE : other === 'gone' ? steps.failed : undefined;
    case 'archive_over_threshold':
      return rejoining ? SETTLE : undefined;
    case 'both_closed':
      return CLOSED;
    case 'waiting_list_timeout':
      return client ? undefined : steps.keep;
    case 'late_leg':
      if (client) return undefined;
      return onWaitingList ? steps.lateListed : steps.late;
    case 'confirm_timeout':
      return other === 'gone' ? steps.released : undefined;
    case 'abort':
      return ABORTED;
    case 'diverged':
      return steps.failed;
    default:
      return undefined;
  }
}

const ENDED_LATE = to('ENDED', 'reset_leg');

/** Returns the step of a flow on an event; `undefined`: the event has no effect in this state. */
export function transition(
  role: Role,
  mode: Mode,
  state: State,
  event: FlowEvent,
  other: OtherLeg,
  onWaitingList: boolean,
): Step | undefined {
  switch (state) {
    case 'ONE_CONN':
      return role === 'server' ? oneConn(event, mode, other) : undefined;
    case 'DUP_CONN':
      return dupConn(event, role, mode, other);
    case 'CHOSEN':
      return chosen(event, role, mode, other, onWaitingList);
    case 'ENDED':
      return role === 'server' && event === 'late_leg' ? ENDED_LATE : undefined;
  }
}

/** Events after which the connection that they concern carries no bytes. */
export const ENDS_SUBJECT: ReadonlySet<FlowEvent> = new Set<FlowEvent>([
  'leg_failed',
  'leg_deadline',
  'waiting_list_timeout',
  'archive_over_threshold',
  'bytes_over_limit',
  'lag_over_cap',
  'leg_finished',
  'confirm_timeout',
  'both_closed',
]);
