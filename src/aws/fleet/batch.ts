/** Joins equal CreateFleet requests into one with a higher target. */
import {
  CreateFleetCommand,
  type CreateFleetCommandOutput,
  type CreateFleetError,
  type CreateFleetInstance,
  type EC2Client,
} from '@aws-sdk/client-ec2';
import type { Clock } from '../../kube/clock.ts';
import type { Logger } from '../../observe/logger.ts';
import { Batcher } from '../batcher.ts';
import { fingerprint, setFingerprint } from '../fingerprint.ts';
import type { AwsMetrics } from '../metrics.ts';
import { TtlCache } from '../ttlcache.ts';
import type { FleetRequest } from './request.ts';

const MAX_FLEET = 1000;
const ATTEMPTS_TTL_MS = 24 * 3_600_000;

export interface FleetOrder {
  readonly request: FleetRequest;
  /** UID of the NodeClaim that the instance is for. */
  readonly claimUid: string;
}

export interface FleetAnswer {
  /** The instance bought, with the override it came from. */
  readonly bought?: { readonly id: string; readonly fleetInstance: CreateFleetInstance; readonly fleetId: string };
  /** Of the whole fleet, also when an instance was bought. */
  readonly errors: readonly CreateFleetError[];
}

export interface FleetsOptions {
  readonly ec2: EC2Client;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: AwsMetrics;
}

export class Fleets {
  readonly #options: FleetsOptions;
  readonly #batcher: Batcher<FleetOrder, FleetAnswer>;
  /** How often EC2 has answered for a claim. */
  readonly #attempts: TtlCache<string, number>;

  constructor(options: FleetsOptions) {
    this.#options = options;
    this.#attempts = new TtlCache(options.clock, ATTEMPTS_TTL_MS);
    this.#batcher = new Batcher({
      name: 'create_fleet',
      clock: options.clock,
      idleMs: 35,
      maxMs: 1000,
      maxItems: MAX_FLEET,
      bucket: ({ request }) => setFingerprint(request),
      run: (orders) => this.#run(orders),
      observe: (batcher, seconds, size) => {
        options.metrics.batchSeconds.observe({ batcher }, seconds);
        options.metrics.batchSize.observe({ batcher }, size);
      },
    });
  }

  create(order: FleetOrder): Promise<FleetAnswer> {
    return this.#batcher.add(order);
  }

  /**
   * Equal for the same request for the same claims, so that a repetition after a lost answer buys nothing twice; another
   * one once EC2 has answered, so that a failure is not replayed.
   */
  #token(orders: readonly FleetOrder[]): string {
    const claims = orders.map(({ claimUid }) => `${claimUid}#${this.#attempts.get(claimUid) ?? 0}`).sort();
    return fingerprint([setFingerprint(orders[0]?.request), claims]);
  }

  #answered(orders: readonly FleetOrder[]): void {
    this.#attempts.sweep();
    for (const { claimUid } of orders) this.#attempts.set(claimUid, (this.#attempts.get(claimUid) ?? 0) + 1);
  }

  async #run(orders: readonly FleetOrder[]): Promise<readonly PromiseSettledResult<FleetAnswer>[]> {
    const [first] = orders;
    if (first === undefined) return [];
    const { request } = first;
    const command = new CreateFleetCommand({
      ...request,
      TargetCapacitySpecification: { ...request.TargetCapacitySpecification, TotalTargetCapacity: orders.length },
      ClientToken: this.#token(orders),
    });
    let fleet: CreateFleetCommandOutput;
    try {
      fleet = await this.#options.ec2.send(command);
    } catch (error) {
      if (error instanceof Error && '$metadata' in error) this.#answered(orders);
      throw error;
    }
    this.#answered(orders);
    return this.#distribute(orders, fleet.FleetId ?? '', fleet.Instances ?? [], fleet.Errors ?? []);
  }

  #distribute(
    orders: readonly FleetOrder[],
    fleetId: string,
    instances: readonly CreateFleetInstance[],
    fleetErrors: readonly CreateFleetError[],
  ): readonly PromiseSettledResult<FleetAnswer>[] {
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
    return orders.map((_, at): PromiseSettledResult<FleetAnswer> => {
      const own = bought[at];
      return { status: 'fulfilled', value: own === undefined ? { errors } : { bought: own, errors: fleetErrors } };
    });
  }
}
