/** A static NodePool follows unavailable offerings as pending pods do. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  CAPACITY_TYPE_LABEL,
  type KubeObject,
  NODE_CLAIM,
  type NodeClaim,
  type NodePool,
  ZONE_LABEL,
} from '#api/objects';
import { awsMetrics, launchError, recordFleetErrors, UnavailableOfferings } from '#aws/testing';
import { InsufficientCapacity } from '#cloud';
import type { InstanceType } from '#engine/model';
import { launchableNodes } from '#engine/solve';
import { silent } from '#observe/logger';
import { createMetrics } from '#observe/setup';
import { LaunchFailures, NamedCounter } from '#state/testing';
import type { Deps } from '../../../../src/controllers/deps.ts';
import type { DisruptionQueue } from '../../../../src/controllers/disruption/queue.ts';
import { staticProvisioning } from '../../../../src/controllers/static/provisioning.ts';
import { virtualClock } from '../../virtualclock.ts';
import { claimOf, condition } from '../node/bench.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const ZONE = 'us-west-2a';
const CAPACITY_TYPES = ['spot', 'on-demand'];
/** Interval at which the operator plans again for pending pods. */
const PODS_AGAIN_MS = 10 * SECOND;
const LONGEST_PAUSE_MS = 3 * MINUTE;

/** Fault of all launches of a capacity type, or of all capacity types. */
interface Fault {
  readonly fromMs: number;
  readonly toMs: number;
  readonly capacityType: string | undefined;
  readonly code: string;
}

/** Launches against EC2 with faults, as `aws/fleet` records them. */
class Launches {
  readonly clock = virtualClock();
  readonly #startMs = this.clock.now();
  readonly #unavailable = new UnavailableOfferings(this.clock, silent);
  readonly #metrics = awsMetrics(createMetrics());
  readonly #faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    this.#faults = faults;
  }

  get elapsedMs(): number {
    return this.clock.now() - this.#startMs;
  }

  types(): readonly InstanceType[] {
    const offerings = CAPACITY_TYPES.map((capacityType) => ({
      requirements: [
        { key: CAPACITY_TYPE_LABEL, operator: 'In' as const, values: [capacityType] },
        { key: ZONE_LABEL, operator: 'In' as const, values: [ZONE] },
      ],
      usdPerHour: 1,
      available: this.#isAvailable(capacityType),
    }));
    const none = { kubeReserved: {}, systemReserved: {}, evictionThreshold: {} };
    return [{ name: 'r6i.large', requirements: [], capacity: {}, overhead: none, offerings }];
  }

  #isAvailable(capacityType: string): boolean {
    this.#unavailable.sweep();
    return this.#unavailable.shortage({ instanceType: 'r6i.large', zone: ZONE, capacityType }) === undefined;
  }

  /** Returns the error of a launch, or undefined if an instance was launched. */
  launch(): Error | undefined {
    const capacityType = CAPACITY_TYPES.find((each) => this.#isAvailable(each));
    if (capacityType === undefined) return new InsufficientCapacity('no type is available');
    const fault = this.#faults.find(
      (each) =>
        each.fromMs <= this.elapsedMs &&
        this.elapsedMs < each.toMs &&
        (each.capacityType ?? capacityType) === capacityType,
    );
    if (fault === undefined) return undefined;
    const pools = [{ instanceType: 'r6i.large', zone: ZONE }];
    const errors = [{ ErrorCode: fault.code, ErrorMessage: 'no' }];
    recordFleetErrors(errors, undefined, {
      ...{ capacityType, instanceTypes: ['r6i.large'], pools, placementGroup: undefined, zoneId: () => '' },
      ...{ unavailable: this.#unavailable, metrics: this.#metrics, subnetExhausted: () => undefined },
      ...{ reservationExhausted: () => undefined, spotRoleMissing: () => undefined },
    });
    return launchError(errors);
  }
}

const poolOf = (replicas: number): NodePool => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'default', uid: 'pool', generation: 1 },
  spec: { replicas, template: { spec: { nodeClassRef: claimOf('x').spec.nodeClassRef, requirements: [] } } },
  status: { conditions: [condition('Ready')] },
});

interface Outcome {
  readonly created: number;
  readonly launched: number;
}

/** NodeClaims that wait for the end of their launch. A NodeClaim that stays is retried every ten seconds. */
class Waiting {
  launched = 0;
  readonly #launches: Launches;
  readonly #ended: (name: string, error: Error) => void;
  #names: readonly string[] = [];

  constructor(launches: Launches, ended: (name: string, error: Error) => void = () => undefined) {
    this.#launches = launches;
    this.#ended = ended;
  }

  get count(): number {
    return this.#names.length;
  }

  add(name: string): void {
    this.#names = [...this.#names, name];
  }

  attempt(): void {
    this.#names = this.#names.filter((name) => {
      const error = this.#launches.launch();
      if (error === undefined) this.launched += 1;
      else if (error instanceof InsufficientCapacity) this.#ended(name, error);
      else return true;
      return false;
    });
  }
}

/** Plays pending pods that need a node each. */
async function playPods(pods: number, faults: readonly Fault[], forMs: number): Promise<Outcome> {
  const launches = new Launches(faults);
  const waiting = new Waiting(launches);
  let created = 0;
  while (launches.elapsedMs < forMs) {
    const missing = pods - waiting.launched - waiting.count;
    if (missing > 0 && launchableNodes(poolOf(pods), launches.types()) > 0)
      for (let claim = 0; claim < missing; claim += 1) waiting.add(`claim-${created++}`);
    waiting.attempt();
    await launches.clock.advance(PODS_AGAIN_MS);
  }
  return { created, launched: waiting.launched };
}

async function playStatic(replicas: number, faults: readonly Fault[], forMs: number): Promise<Outcome> {
  const launches = new Launches(faults);
  const claims = new Map<string, NodeClaim>();
  const launchFailures = new LaunchFailures();
  const waiting = new Waiting(launches, (name, error) => {
    const claim = claims.get(name);
    if (claim !== undefined) launchFailures.record(claim, { text: error.message });
    claims.delete(name);
  });
  const pool = poolOf(replicas);
  let created = 0;
  const deps = {
    clock: launches.clock,
    metrics: createMetrics(),
    cloud: { instanceTypes: async () => launches.types() },
    client: {
      find: async () => pool,
      create: async (_: unknown, object: KubeObject) => {
        created += 1;
        const claim = { ...(object as NodeClaim), kind: NODE_CLAIM.kind };
        claims.set(claim.metadata.name, claim);
        waiting.add(claim.metadata.name);
        return claim;
      },
    },
    cluster: {
      ...{ launchFailures, manages: () => true, synced: () => true, reservedNodes: new NamedCounter(() => {}) },
      observation: { of: () => undefined },
      ...{ claimsOfPool: () => [...claims.values()], nodeOfClaim: () => undefined, poolTotals: () => ({}) },
      track: () => undefined,
      quotas: () => [],
      stores: { nodePolicies: { list: () => [] } },
    },
  } as unknown as Deps;
  const queue = { has: () => false } as unknown as DisruptionQueue;
  const controller = staticProvisioning(deps, queue, { room: () => Number.POSITIVE_INFINITY });
  const context = { log: silent, signal: new AbortController().signal };
  while (launches.elapsedMs < forMs) {
    // events of NodeClaims trigger the controller, so it runs more often than it requests
    await controller.reconcile(pool, context);
    waiting.attempt();
    await launches.clock.advance(2 * SECOND);
  }
  return { created, launched: waiting.launched };
}

describe('a static NodePool without capacity', () => {
  it('creates three NodeClaims every three minutes, and launches them when capacity returns', async () => {
    const faults = [
      { fromMs: 0, toMs: 18 * MINUTE, capacityType: undefined, code: 'InsufficientInstanceCapacity' },
    ] as const;
    const during = await playStatic(3, faults, 18 * MINUTE);
    // spot first, then on-demand, six times
    expect(during.created).toBeLessThanOrEqual(36);
    expect(during.launched).toBe(0);
    const { launched } = await playStatic(3, faults, 18 * MINUTE + LONGEST_PAUSE_MS + MINUTE);
    expect(launched).toBe(3);
  });

  it('waits between attempts if EC2 refuses launches although offerings are available', async () => {
    const faults = [{ fromMs: 0, toMs: 60 * MINUTE, capacityType: undefined, code: 'SomeNewCode' }];
    expect((await playStatic(3, faults, 60 * MINUTE)).created).toBeLessThan(3 * 2 * 25);
  });

  it('creates no more NodeClaims than as many pods, and all nodes after random faults', async () => {
    const fault = fc.record({
      fromMs: fc.integer({ min: 0, max: 15 * MINUTE }),
      lastsMs: fc.integer({ min: SECOND, max: 15 * MINUTE }),
      capacityType: fc.constantFrom(undefined, ...CAPACITY_TYPES),
      code: fc.constantFrom(
        ...['InsufficientInstanceCapacity', 'SpotMaxPriceTooLow', 'VcpuLimitExceeded', 'UnauthorizedOperation'],
        ...['InvalidAMIID.NotFound', 'RequestLimitExceeded', 'SomeNewCode'],
      ),
    });
    const faultsOf = fc
      .array(fault, { minLength: 1, maxLength: 4 })
      .map((all) => all.map(({ lastsMs, ...each }) => ({ ...each, toMs: each.fromMs + lastsMs })));
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 5 }), faultsOf, async (replicas, faults) => {
        const endMs = Math.max(...faults.map(({ toMs }) => toMs)) + LONGEST_PAUSE_MS + MINUTE;
        const ofPods = await playPods(replicas, faults, endMs);
        const ofStatic = await playStatic(replicas, faults, endMs);
        expect(ofStatic.launched).toBe(replicas);
        // the controller may see the end of a pause one interval earlier
        expect(ofStatic.created).toBeLessThanOrEqual(ofPods.created + 2 * replicas);
      }),
      { numRuns: 30, seed: 67 },
    );
  }, 120_000);
});
