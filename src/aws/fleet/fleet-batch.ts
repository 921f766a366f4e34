/** Joins equal CreateFleet requests into one with a higher target, and never loses what one has bought. */
import type { CreateFleetCommandOutput, CreateFleetError, CreateFleetInstance, EC2Client } from '@aws-sdk/client-ec2';
import type { Clock } from '../../lib/clock.ts';
import { messageOf } from '../../lib/error-message.ts';
import { remembering } from '../../lib/remembering.ts';
import { TtlCache } from '../../lib/ttl-cache.ts';
import type { Logger } from '../../observe/logger.ts';
import type { StepTraces } from '../../observe/traces/tracer.ts';
import { fingerprint, setFingerprint } from '../fingerprint.ts';
import type { TemplateConfig } from '../launchtemplates/plan.ts';
import type { AwsMetrics } from '../metrics.ts';
import { RequestBatcher } from '../request-batcher.ts';
import { FleetCall } from './fleet-call.ts';
import { traceCall } from './fleet-trace.ts';
import type { FleetRequest } from './request.ts';

const MAX_FLEET = 1000;
/** Longer than a claim waits to be launched. */
const REMEMBERED_MS = 24 * 3_600_000;

interface FleetOrder {
  readonly request: FleetRequest;
  /** UID of the NodeClaim that the instance is for. */
  readonly claimUid: string;
  readonly capacityType: string;
  /** The launch templates that the request names. */
  readonly configs: readonly TemplateConfig[];
}

export interface FleetAnswer {
  /** What was answered: an earlier order of the same claim where EC2's answer to that had been lost. */
  readonly order: FleetOrder;
  /** The instance bought, with the override it came from. */
  readonly bought?: { readonly id: string; readonly fleetInstance: CreateFleetInstance; readonly fleetId: string };
  /** Of the whole fleet, also when an instance was bought. */
  readonly errors: readonly CreateFleetError[];
}

interface FleetsOptions {
  readonly ec2: EC2Client;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: AwsMetrics;
  /** Undefined: nobody wants traces. */
  readonly traces?: StepTraces | undefined;
}

/** A fleet whose answer was lost, so that nobody knows whether EC2 bought it. */
interface Doubt {
  readonly call: FleetCall;
  readonly orders: readonly FleetOrder[];
  /** The same request once more, under way or answered. EC2 answers, by the token, with what it bought the first time. */
  repeated: Promise<readonly FleetAnswer[]> | undefined;
}

/** Used for the batch of an order, and for its token. */
const fingerprintOf = remembering((request: FleetRequest): string => setFingerprint(request));

export class Fleets {
  readonly #options: FleetsOptions;
  readonly #batcher: RequestBatcher<FleetOrder, FleetAnswer>;
  /** How often EC2 has answered for a claim. */
  readonly #attempts: TtlCache<string, number>;
  /** Fleets in doubt, by the claims that ordered them. */
  readonly #doubts: TtlCache<string, Doubt>;

  constructor(options: FleetsOptions) {
    this.#options = options;
    this.#attempts = new TtlCache(options.clock, REMEMBERED_MS);
    this.#doubts = new TtlCache(options.clock, REMEMBERED_MS);
    this.#batcher = new RequestBatcher({
      name: 'create_fleet',
      clock: options.clock,
      idleMs: 35,
      maxMs: 1000,
      maxItems: MAX_FLEET,
      bucket: ({ request }) => fingerprintOf(request),
      run: (orders) => this.#run(orders),
      metrics: options.metrics,
    });
  }

  create(order: FleetOrder): Promise<FleetAnswer> {
    const doubt = this.#doubts.get(order.claimUid);
    return doubt === undefined ? this.#batcher.add(order) : this.#resolve(doubt, order.claimUid);
  }

  /** Finds out what became of the fleet that the claim ordered before. */
  async #resolve(doubt: Doubt, claimUid: string): Promise<FleetAnswer> {
    doubt.repeated ??= this.#send(doubt.call, doubt.orders);
    let answers: readonly FleetAnswer[];
    try {
      answers = await doubt.repeated;
    } catch (error) {
      doubt.repeated = undefined;
      if (!doubt.call.isInDoubt) this.#doubts.delete(claimUid);
      throw error;
    }
    this.#doubts.delete(claimUid);
    const own = answers.find((answer) => answer.order.claimUid === claimUid);
    if (own === undefined) throw new Error(`no answer for claim ${claimUid}`);
    return own;
  }

  /**
   * Equal for the same request for the same claims, so that a repetition after a lost answer buys nothing twice; another
   * one once EC2 has answered, so that a failure is not replayed.
   */
  #token(request: FleetRequest, orders: readonly FleetOrder[]): string {
    const claims = orders.map(({ claimUid }) => `${claimUid}#${this.#attempts.get(claimUid) ?? 0}`).sort();
    return fingerprint([fingerprintOf(request), claims]);
  }

  #answered(orders: readonly FleetOrder[]): void {
    this.#attempts.sweep();
    for (const { claimUid } of orders) this.#attempts.set(claimUid, (this.#attempts.get(claimUid) ?? 0) + 1);
  }

  async #run(orders: readonly FleetOrder[]): Promise<readonly PromiseSettledResult<FleetAnswer>[]> {
    const [first] = orders;
    if (first === undefined) return [];
    const { request } = first;
    const call = new FleetCall({
      ...request,
      TargetCapacitySpecification: { ...request.TargetCapacitySpecification, TotalTargetCapacity: orders.length },
      ClientToken: this.#token(request, orders),
    });
    try {
      const answers = await this.#send(call, orders);
      return answers.map((value) => ({ status: 'fulfilled', value }));
    } catch (error) {
      this.#doubts.sweep();
      const doubt: Doubt = { call, orders, repeated: undefined };
      if (call.isInDoubt) for (const { claimUid } of orders) this.#doubts.set(claimUid, doubt);
      throw error;
    }
  }

  async #send(call: FleetCall, orders: readonly FleetOrder[]): Promise<readonly FleetAnswer[]> {
    const { clock, ec2, traces } = this.#options;
    const fromMs = clock.now();
    let fleet: CreateFleetCommandOutput;
    try {
      fleet = await call.send(ec2);
    } catch (error) {
      if (!call.isInDoubt) this.#answered(orders);
      if (traces) traceCall(traces, { orders, fromMs, toMs: clock.now(), answers: [], failure: messageOf(error) });
      throw error;
    }
    this.#answered(orders);
    const answers = this.#distribute(orders, fleet.FleetId ?? '', fleet.Instances ?? [], fleet.Errors ?? []);
    // instances are bought by now: nothing that a span needs may be missed
    const requestId = fleet.$metadata?.requestId;
    if (traces) traceCall(traces, { orders, fromMs, toMs: clock.now(), answers, requestId });
    return answers;
  }

  #distribute(
    orders: readonly FleetOrder[],
    fleetId: string,
    instances: readonly CreateFleetInstance[],
    fleetErrors: readonly CreateFleetError[],
  ): readonly FleetAnswer[] {
    const bought = instances.flatMap((fleetInstance) =>
      (fleetInstance.InstanceIds ?? []).map((id) => ({ id, fleetInstance, fleetId })),
    );
    if (bought.length > orders.length)
      this.#options.log.error('received more instances than requested, ignoring the surplus', {
        'fleet-id': fleetId,
        instances: bought.slice(orders.length).map(({ id }) => id),
      });
    const short = bought.length < orders.length && fleetErrors.length === 0;
    const text = 'too few instances returned';
    const errors = short ? [{ ErrorCode: text, ErrorMessage: text }] : fleetErrors;
    return orders.map((order, at) => {
      const own = bought[at];
      return own === undefined ? { order, errors } : { order, bought: own, errors: fleetErrors };
    });
  }
}
