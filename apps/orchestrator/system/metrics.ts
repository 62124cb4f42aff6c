import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import { byText } from '#kernel';
import { EVALUATION_TYPES } from '#scheduling';
import type { SchedulerCounts } from '#scheduling';

/** All names in one place: one prefix, base units, labels from small closed sets. */
const NAMES = {
  decisions: 'escalon_decisions_total',
  decisionSeconds: 'escalon_decision_duration_seconds',
  plans: 'escalon_plans_total',
  planned: 'escalon_planned_total',
  queueWait: 'escalon_queue_wait_seconds',
  runSeconds: 'escalon_run_duration_seconds',
  filtered: 'escalon_nodes_filtered_total',
  refusals: 'escalon_plan_conflicts_total',
  appendSeconds: 'escalon_append_duration_seconds',
  conflicts: 'escalon_append_conflicts_total',
  subscriptions: 'escalon_subscriptions_open',
  expiries: 'escalon_reservation_expiries_total',
  lost: 'escalon_executions_lost_total',
  timedOut: 'escalon_timeouts_total',
  dequeueFaults: 'escalon_worker_dequeue_faults_total',
  processFaults: 'escalon_worker_process_faults_total',
  ackFaults: 'escalon_worker_ack_faults_total',
  nackFaults: 'escalon_worker_nack_faults_total',
  deadLettered: 'escalon_evaluations_dead_lettered_total',
  superseded: 'escalon_evaluations_superseded_total',
  overlooked: 'escalon_overlooked_jobs_total',
  ready: 'escalon_eval_broker_ready',
  inFlight: 'escalon_eval_broker_inflight',
  pending: 'escalon_eval_broker_pending',
  waiting: 'escalon_eval_broker_waiting',
  cancelable: 'escalon_eval_broker_cancelable',
  blocked: 'escalon_blocked_jobs',
  heartbeats: 'escalon_heartbeats_total',
  deliveries: 'escalon_subscriber_deliveries_total',
  subscriberLag: 'escalon_subscriber_lag_seconds',
  subscriberWaiting: 'escalon_subscriber_waiting_events',
  requests: 'escalon_http_request_duration_seconds',
  projectionLag: 'escalon_projection_lag_seconds',
  projectionLagEvents: 'escalon_projection_lag_events',
} as const;

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const FAST = [0.0001, 0.00025, 0.0005, ...SECONDS];
/** From a fraction of a second to a day. */
const LONG = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400];

/** The process's counters, read at `/metrics`. */
export class Metrics {
  readonly registry = new Registry();
  private readonly on = { registers: [this.registry] };
  readonly decisions = new Counter({
    name: NAMES.decisions,
    help: 'Placement decisions',
    labelNames: ['outcome'],
    ...this.on,
  });
  readonly decisionSeconds = new Histogram({
    name: NAMES.decisionSeconds,
    help: 'Time to decide one placement',
    buckets: FAST,
    ...this.on,
  });
  readonly queueWait = new Histogram({
    name: NAMES.queueWait,
    help: 'Time from entering the queue (submission, end of a backoff, resumption) to a reservation',
    buckets: LONG,
    ...this.on,
  });
  readonly runSeconds = new Histogram({
    name: NAMES.runSeconds,
    help: 'Time from the start of a run to its end: succeeded, failed, timeout, lost or cancelled',
    labelNames: ['result'],
    buckets: LONG,
    ...this.on,
  });
  readonly filtered = new Counter({
    name: NAMES.filtered,
    help: 'Nodes that recorded decisions ruled out, by the primary reason (docs/reference/reasons.md)',
    labelNames: ['reason'],
    ...this.on,
  });
  readonly refusals = new Counter({
    name: NAMES.refusals,
    help: 'Claims on nodes and plans of jobs that were refused because something else came first',
    labelNames: ['stream'],
    ...this.on,
  });
  readonly appendSeconds = new Histogram({
    name: NAMES.appendSeconds,
    help: 'Time to append to a stream of a job, node or project, until it is on disk',
    labelNames: ['stream'],
    buckets: SECONDS,
    ...this.on,
  });
  readonly plans = new Counter({ name: NAMES.plans, help: 'Plans that were carried out', ...this.on });
  readonly planned = new Counter({
    name: NAMES.planned,
    help: 'Executions placed and stopped, and decisions that placed none, in plans that were carried out',
    labelNames: ['kind'],
    ...this.on,
  });
  readonly conflicts = new Counter({
    name: NAMES.conflicts,
    help: 'Appends that came second on their stream and were decided again',
    labelNames: ['stream'],
    ...this.on,
  });
  readonly expiries = new Counter({
    name: NAMES.expiries,
    help: 'Reservations that were not confirmed in time',
    ...this.on,
  });
  readonly lost = new Counter({ name: NAMES.lost, help: 'Executions lost with their node', ...this.on });
  readonly timedOut = new Counter({
    name: NAMES.timedOut,
    help: 'Jobs and runs that the control plane ended because their time was over',
    ...this.on,
  });
  /** By what the worker failed at; with the type of the evaluation where it had one. */
  readonly workerFaults = {
    dequeue: this.counter(NAMES.dequeueFaults, 'Times that a worker asked for an evaluation and met a fault'),
    process: this.counter(NAMES.processFaults, 'Evaluations that failed and are tried again', 'eval_type'),
    ack: this.counter(NAMES.ackFaults, 'Evaluations that were done when their lease was over already', 'eval_type'),
    nack: this.counter(NAMES.nackFaults, 'Evaluations that failed when their lease was over already', 'eval_type'),
  };
  readonly deadLettered = this.counter(NAMES.deadLettered, 'Evaluations that failed too often and were given up');
  readonly superseded = this.counter(NAMES.superseded, 'Evaluations that another one of their job made needless');
  readonly overlooked = new Counter({
    name: NAMES.overlooked,
    help: 'Jobs that the safety sweep placed: an event that should have woken them was missed, so this stays 0',
    ...this.on,
  });
  readonly heartbeats = new Counter({
    name: NAMES.heartbeats,
    help: 'Messages from nodes that count as a sign of life',
    ...this.on,
  });
  readonly projectionLag = new Gauge({
    name: NAMES.projectionLag,
    help: 'Age of the oldest event that a read model has not applied',
    labelNames: ['projection'],
    ...this.on,
  });
  readonly projectionLagEvents = new Gauge({
    name: NAMES.projectionLagEvents,
    help: 'Events that a read model has not applied, about',
    labelNames: ['projection'],
    ...this.on,
  });
  readonly subscriptions = new Gauge({
    name: NAMES.subscriptions,
    help: 'Subscriptions open: to the event store, and of clients over SSE (events, logs, decisions) and GraphQL',
    labelNames: ['kind'],
    ...this.on,
  });
  readonly deliveries = new Counter({
    name: NAMES.deliveries,
    help: 'Deliveries to subscribers: delivered, failed (and tried again) or given-up',
    labelNames: ['subscriber', 'result'],
    ...this.on,
  });
  readonly subscriberLag = new Gauge({
    name: NAMES.subscriberLag,
    help: 'Age of the oldest event that was not delivered to a subscriber',
    labelNames: ['subscriber'],
    ...this.on,
  });
  readonly subscriberWaiting = new Gauge({
    name: NAMES.subscriberWaiting,
    help: 'Events read for a subscriber and not delivered to it',
    labelNames: ['subscriber'],
    ...this.on,
  });
  readonly requests = new Histogram({
    name: NAMES.requests,
    help: 'Time to answer a request',
    labelNames: ['method', 'status'],
    buckets: SECONDS,
    ...this.on,
  });

  /** The scheduler's at the time of a scrape; nothing while this process does not schedule. */
  schedulerCounts: () => SchedulerCounts | undefined = () => undefined;
  private readonly measures: (() => void | Promise<void>)[] = [];

  constructor() {
    collectDefaultMetrics({ register: this.registry, prefix: 'escalon_' });
    const counts = (): SchedulerCounts | undefined => this.schedulerCounts();
    this.byType(NAMES.ready, 'Evaluations that a worker can have', () => counts()?.readyByType);
    this.byType(NAMES.inFlight, 'Evaluations that a worker has', () => counts()?.inFlightByType);
    this.gauge(NAMES.pending, 'Evaluations behind another one of their job', () => counts()?.pending);
    this.gauge(NAMES.waiting, 'Evaluations that wait for their time or their next try', () => counts()?.waiting);
    this.gauge(NAMES.cancelable, 'Evaluations that are needless and not yet recorded so', () => counts()?.cancelable);
    this.gauge(NAMES.blocked, 'Jobs that were looked at and wait for an event', () => counts()?.blocked);
  }

  private counter<Label extends string>(name: string, help: string, ...labelNames: Label[]): Counter<Label> {
    return new Counter({ name, help, labelNames, ...this.on });
  }

  private gauge(name: string, help: string, value: () => number | undefined): void {
    const collect = function (this: Gauge): void {
      this.set(value() ?? 0);
    };
    this.registry.registerMetric(new Gauge({ name, help, registers: [], collect }));
  }

  private byType(name: string, help: string, values: () => ReadonlyMap<string, number> | undefined): void {
    const collect = function (this: Gauge<'eval_type'>): void {
      const counts = values();
      for (const type of EVALUATION_TYPES) this.set({ eval_type: type }, counts?.get(type) ?? 0);
    };
    this.registry.registerMetric(new Gauge({ name, help, labelNames: ['eval_type'], registers: [], collect }));
  }

  /** To be run before each reading, for what is looked up and not counted. */
  onRead(measure: () => void | Promise<void>): void {
    this.measures.push(measure);
  }

  /** In the Prometheus text format. What cannot be looked up now (the database is away) stays as it was. */
  async read(): Promise<string> {
    await Promise.allSettled(this.measures.map(async (measure) => measure()));
    return this.registry.metrics();
  }

  /** What this program measures of its own, by name; what the runtime tells of itself comes on top. */
  get own(): readonly {
    readonly name: string;
    readonly help: string;
    readonly type: string;
    readonly labels: readonly string[];
  }[] {
    const names = new Set<string>(Object.values(NAMES));
    const all = this.registry.getMetricsAsArray() as unknown as Described[];
    return all
      .filter(({ name }) => names.has(name))
      .map((one) => ({ name: one.name, help: one.help, type: typeOf(one), labels: one.labelNames ?? [] }))
      .sort((left, right) => byText(left.name, right.name));
  }
}

interface Described {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
}

const typeOf = (metric: object): string =>
  metric instanceof Histogram ? 'histogram' : metric instanceof Gauge ? 'gauge' : 'counter';
