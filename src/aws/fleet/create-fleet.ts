/** Sends CreateFleet requests of launches: joins equal requests, and retries a request without a response with the same token. */
import {
  CreateFleetCommand,
  type CreateFleetCommandInput,
  type CreateFleetCommandOutput,
  type CreateFleetError,
  type CreateFleetInstance,
  type DefaultTargetCapacityType,
  type EC2Client,
  type FleetLaunchTemplateConfigRequest,
} from '@aws-sdk/client-ec2';
import type { StringMap } from '#api/objects';
import { defined, messageOf, remembering } from '#lib';
import { type Clock, TtlCache } from '#lib/clock';
import type { Logger } from '#observe/logger';
import type { FinishedSpan, StepTraces } from '#observe/traces';
import { classOf, TOO_FEW_INSTANCES } from '../error-codes.ts';
import { codeOf, isThrottled } from '../errors.ts';
import { fingerprint, setFingerprint } from '../fingerprint.ts';
import type { TemplateReservation } from '../launchtemplates/content.ts';
import type { TemplateConfig } from '../launchtemplates/launchtemplates.ts';
import type { AwsMetrics } from '../metrics.ts';
import { RequestBatcher } from '../request-batcher.ts';
import { tagList } from '../tags.ts';

const MAX_FLEET = 1000;
/** Longer than a NodeClaim waits for its launch. */
const REMEMBERED_MS = 24 * 3_600_000;

interface FleetParameters {
  readonly configs: readonly FleetLaunchTemplateConfigRequest[];
  readonly capacityType: string;
  readonly reservation: TemplateReservation | undefined;
  /**
   * True if NodeOverlays, the price book, spot risks or surplus CPU credits change the order of prices, so that AWS must use the
   * priorities.
   */
  readonly prioritized: boolean;
  readonly tags: StringMap;
  readonly context: string | undefined;
}

export type FleetRequest = Omit<CreateFleetCommandInput, 'TargetCapacitySpecification' | 'ClientToken'> & {
  readonly TargetCapacitySpecification: { readonly DefaultTargetCapacityType: DefaultTargetCapacityType };
};

function targetType({ capacityType, reservation }: FleetParameters): DefaultTargetCapacityType {
  if (capacityType === 'spot') return 'spot';
  if (capacityType !== 'reserved') return 'on-demand';
  if (reservation?.type === 'capacity-block') return 'capacity-block';
  // newer than the SDK's list of target types
  return reservation?.interruptible === true ? ('reserved-capacity' as DefaultTargetCapacityType) : 'on-demand';
}

function strategy(parameters: FleetParameters, target: string): Partial<FleetRequest> {
  if (target === 'spot')
    return {
      SpotOptions: {
        AllocationStrategy: parameters.prioritized ? 'capacity-optimized-prioritized' : 'price-capacity-optimized',
      },
    };
  if (target === 'on-demand')
    return { OnDemandOptions: { AllocationStrategy: parameters.prioritized ? 'prioritized' : 'lowest-price' } };
  if (target === 'reserved-capacity')
    return { ReservedCapacityOptions: { ReservationTypes: ['interruptible-capacity-reservation'] } };
  return {};
}

/** Builds the request without the number of instances, which depends on the batch. */
export function fleetRequest(parameters: FleetParameters): FleetRequest {
  const target = targetType(parameters);
  return {
    Type: 'instant',
    LaunchTemplateConfigs: [...parameters.configs],
    TargetCapacitySpecification: { DefaultTargetCapacityType: target },
    ...strategy(parameters, target),
    TagSpecifications: (['instance', 'volume', 'fleet'] as const).map((ResourceType) => ({
      ResourceType,
      Tags: tagList(parameters.tags),
    })),
    ...defined({ Context: parameters.context }),
  };
}

interface FleetOrder {
  readonly request: FleetRequest;
  /** UID of the NodeClaim that the instance is for. */
  readonly claimUid: string;
  readonly capacityType: string;
  /** Launch templates of the request. */
  readonly configs: readonly TemplateConfig[];
}

export interface FleetAnswer {
  /** Order that EC2 responded to: an earlier order of the same NodeClaim if the response to that order was lost. */
  readonly order: FleetOrder;
  /** Launched instance, with its override. */
  readonly bought?: { readonly id: string; readonly fleetInstance: CreateFleetInstance; readonly fleetId: string };
  /** Errors of the whole fleet, also if an instance was launched. */
  readonly errors: readonly CreateFleetError[];
}

interface FleetsOptions {
  readonly ec2: EC2Client;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: AwsMetrics;
  /** Undefined if tracing is disabled. */
  readonly traces?: StepTraces | undefined;
}

/** Fleet with a lost response. EC2 may have launched its instances. */
interface Doubt {
  readonly call: FleetCall;
  readonly orders: readonly FleetOrder[];
  /** Retry of the request. The client token makes EC2 return the original fleet instead of launching a second one. */
  repeated: Promise<readonly FleetAnswer[]> | undefined;
}

const fingerprintOf = remembering((request: FleetRequest): string => setFingerprint(request));

export class Fleets {
  readonly #options: FleetsOptions;
  readonly #batcher: RequestBatcher<FleetOrder, FleetAnswer>;
  /** Number of responses of EC2 for each NodeClaim. */
  readonly #attempts: TtlCache<string, number>;
  /** Fleets with a lost response, by UID of the NodeClaims. */
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

  /** Retries the earlier request of the NodeClaim to learn its outcome. */
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
    if (own === undefined) throw new Error(`no result for NodeClaim with UID ${claimUid}`);
    return own;
  }

  /**
   * Returns the client token: the same one for the same request and NodeClaims, so that a retry after a lost response launches no
   * second fleet. Each response of EC2 changes the token, so that EC2 does not replay a failure.
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
    // the instances exist now, so a missing field of the trace must not fail the launch
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
    const errors = short ? [{ ErrorCode: TOO_FEW_INSTANCES, ErrorMessage: TOO_FEW_INSTANCES }] : fleetErrors;
    return orders.map((order, at) => {
      const own = bought[at];
      return own === undefined ? { order, errors } : { order, bought: own, errors: fleetErrors };
    });
  }
}

const isResponse = (error: unknown): boolean =>
  isThrottled(error) || (error instanceof Error && '$fault' in error && error.$fault === 'client');

/** Returns true if EC2 evaluated the request. An earlier request with the same token then launched no instance. */
const isEvaluated = (error: unknown): boolean =>
  isResponse(error) && !isThrottled(error) && classOf(codeOf(error)) !== 'permission';

/** One CreateFleet request, including its retries until EC2 responds. */
class FleetCall {
  readonly #command: CreateFleetCommand;
  #isLost = false;

  constructor(input: ConstructorParameters<typeof CreateFleetCommand>[0]) {
    this.#command = new CreateFleetCommand(input);
    // records each try of the SDK: the last try may be throttled although an earlier try launched instances
    this.#command.middlewareStack.add(
      (next) => async (args) => {
        try {
          return await next(args);
        } catch (error) {
          this.#record(error);
          throw error;
        }
      },
      { step: 'deserialize', priority: 'high', name: 'noteLostAnswers' },
    );
  }

  /**
   * True if EC2 may have launched the fleet although the response is missing: a connection was lost, or EC2 failed. Throttling
   * and refused credentials do not show that an earlier try launched nothing.
   */
  get isInDoubt(): boolean {
    return this.#isLost;
  }

  /** Sends the request with the same client token each time. EC2 returns the original fleet if it exists. */
  async send(ec2: EC2Client): Promise<CreateFleetCommandOutput> {
    try {
      const fleet = await ec2.send(this.#command);
      this.#isLost = false;
      return fleet;
    } catch (error) {
      this.#record(error);
      throw error;
    }
  }

  #record(error: unknown): void {
    if (!isResponse(error)) this.#isLost = true;
    else if (isEvaluated(error)) this.#isLost = false;
  }
}

/** Request with a response or an error. */
interface TracedCall {
  readonly orders: readonly FleetOrder[];
  readonly fromMs: number;
  readonly toMs: number;
  readonly requestId?: string | undefined;
  /** In the order of `orders`. Empty if the request failed. */
  readonly answers: readonly FleetAnswer[];
  readonly failure?: string | undefined;
}

/** Reports the request as a step in the trace of each NodeClaim. */
function traceCall(traces: StepTraces, call: TracedCall): void {
  const { orders, fromMs, toMs, requestId, answers, failure } = call;
  orders.forEach((order, at) => {
    const { bought, errors = [] } = answers[at] ?? {};
    const overrides = (order.request.LaunchTemplateConfigs ?? []).flatMap(({ Overrides = [] }) => Overrides);
    const refused = [...new Set(errors.map(({ ErrorCode }) => ErrorCode))].join(', ');
    const step: FinishedSpan = {
      name: 'EC2.CreateFleet',
      fromMs,
      toMs,
      isRequest: true,
      attributes: {
        'rpc.system': 'aws-api',
        'rpc.service': 'EC2',
        'rpc.method': 'CreateFleet',
        'aws.request_id': requestId,
        'karpenter.fleet.id': bought?.fleetId,
        'karpenter.fleet.target_capacity': orders.length,
        'karpenter.fleet.overrides': overrides.length,
        'karpenter.fleet.errors': refused || undefined,
      },
      failure: failure ?? (bought === undefined ? refused || 'no instance' : undefined),
    };
    traces.step(order.claimUid, step);
  });
}
