import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';

/** All names in one place: one prefix, base units, labels from small closed sets. */
const NAMES = {
  decisions: 'escalon_decisions_total',
  decisionSeconds: 'escalon_decision_duration_seconds',
  plans: 'escalon_plans_total',
  planned: 'escalon_planned_total',
  conflicts: 'escalon_append_conflicts_total',
  expiries: 'escalon_reservation_expiries_total',
  lost: 'escalon_executions_lost_total',
  timedOut: 'escalon_timeouts_total',
  faults: 'escalon_worker_process_faults_total',
  overlooked: 'escalon_overlooked_jobs_total',
  ready: 'escalon_eval_broker_ready',
  inFlight: 'escalon_eval_broker_inflight',
  waiting: 'escalon_eval_broker_waiting',
  heartbeats: 'escalon_heartbeats_total',
  deliveries: 'escalon_subscriber_deliveries_total',
  subscriberLag: 'escalon_subscriber_lag_seconds',
  subscriberWaiting: 'escalon_subscriber_waiting_events',
  requests: 'escalon_http_request_duration_seconds',
  projectionLag: 'escalon_projection_lag_seconds',
} as const;

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

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
    help: 'Claims and decisions that came second',
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
  readonly faults = new Counter({
    name: NAMES.faults,
    help: 'Evaluations that failed and are tried again',
    ...this.on,
  });
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
  readonly ready = new Gauge({ name: NAMES.ready, help: 'Jobs ready to be looked at', ...this.on });
  readonly inFlight = new Gauge({ name: NAMES.inFlight, help: 'Jobs being looked at', ...this.on });
  readonly waiting = new Gauge({ name: NAMES.waiting, help: 'Jobs that wait for an event', ...this.on });
  readonly projectionLag = new Gauge({
    name: NAMES.projectionLag,
    help: 'Age of the oldest event that a read model has not applied',
    labelNames: ['projection'],
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

  constructor() {
    collectDefaultMetrics({ register: this.registry, prefix: 'escalon_' });
  }
}
