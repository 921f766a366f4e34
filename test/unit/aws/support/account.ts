/** The provider on the local AWS, over real HTTP, with Kubernetes objects in memory. */

import { EC2_NODE_CLASS, NAMESPACE, NODE_CLAIM, NODE_POOL, type NodeClaim } from '#api/objects';
import type { NodeClaimRequirement } from '#api/testing';
import { parseAwsSettings } from '#aws/settings';
import { openFence } from '#kube/client';
import type { Controller, EventNote, Outcome } from '#kube/reconcilers';
import { type Clock, realClock } from '#lib/clock';
import type { Catalogue } from '#local/aws';
import { type LocalAws, startAws } from '#local/testing';
import type { Metrics } from '#observe/metrics';
import { createMetrics } from '#observe/setup';
import { awsProvider } from '../../../../src/aws/index.ts';
import type { AwsProvider } from '../../../../src/aws/options.ts';
import { nodeClaimOf, nodeClassOf, nodePoolOf } from '../../../support/awsobjects.ts';
import { catalogueOf } from '../../../support/catalogue.ts';
import { ec2RateLimiter } from '../../../support/ec2-rate-limits.ts';
import { MemoryKube } from '../../../support/memory-kube.ts';
import { recordingLog } from '../../kube/fakes.ts';

const CLUSTER = 'test';
const FAMILIES = /^(c5|g4dn|m5|m6g|t3)\./;
const LONGEST_SLEEP_MS = 50;
const few = catalogueOf(FAMILIES);
export const CLUSTER_UID = '6f0d3c1e-2b7a-4b53-9f7d-6f5f0c0d1a11';

/** A clock that can be advanced. Waits use real time. */
export interface ShiftedClock extends Clock {
  forward(ms: number): void;
}

/** @param longestSleepMs maximum real wait; a longer wait advances the clock instead */
export function shiftedClock(longestSleepMs = Number.POSITIVE_INFINITY): ShiftedClock {
  const real = realClock();
  let shift = 0;
  return {
    now: () => real.now() + shift,
    async sleep(ms, signal) {
      await real.sleep(Math.min(ms, longestSleepMs), signal);
      shift += Math.max(0, ms - longestSleepMs);
    },
    after: real.after,
    forward: (ms) => {
      shift += ms;
    },
  };
}

export interface AccountOptions {
  readonly stopDelayMs?: number;
  /** Flags of the operator, besides the names of cluster and queue. */
  readonly flags?: readonly string[];
  /** True if EC2 throttles as AWS does. Default false. */
  readonly rateLimits?: boolean;
  /** Default: a few families. */
  readonly catalogue?: Catalogue;
  /** Maximum real wait, for example between attempts of the SDK. The clock is advanced by the rest. Default 50. */
  readonly longestSleepMs?: number;
}

export class Account {
  readonly clock: ShiftedClock;
  readonly kube: MemoryKube;
  readonly events: EventNote[] = [];
  readonly #recorded = recordingLog();
  readonly lines = this.#recorded.lines;
  /** Version that the API server returns to the next process. */
  kubernetesVersion = '1.34';
  readonly aws: LocalAws;
  #provider: AwsProvider | undefined;
  #metrics: Metrics = createMetrics();
  #controllers: readonly Controller[] = [];
  #claims = 0;
  readonly #flags: readonly string[];

  private constructor(aws: LocalAws, clock: ShiftedClock, flags: readonly string[]) {
    this.aws = aws;
    this.clock = clock;
    this.kube = new MemoryKube(clock, 0);
    this.#flags = flags;
  }

  static async open({
    stopDelayMs = 10,
    flags = [],
    rateLimits = false,
    catalogue = few,
    longestSleepMs = LONGEST_SLEEP_MS,
  }: AccountOptions = {}): Promise<Account> {
    const clock = shiftedClock(longestSleepMs);
    const aws = await startAws({
      clock,
      clusterName: CLUSTER,
      startDelayMs: 10,
      stopDelayMs,
      ...(rateLimits ? { rateLimiter: ec2RateLimiter } : {}),
      catalogue,
    });
    const account = new Account(aws, clock, flags);
    Object.assign(process.env, aws.env());
    account.kube.put(NAMESPACE, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'kube-system', uid: CLUSTER_UID },
    });
    account.kube.put(EC2_NODE_CLASS, nodeClassOf(CLUSTER));
    account.kube.put(NODE_POOL, nodePoolOf());
    await account.restart();
    await account.reconcile('providers.pricing');
    await account.reconcileNodeClass();
    account.aws.calls.clear();
    return account;
  }

  /** Starts a new process on the same AWS account and cluster, without any in-memory state. */
  async restart(): Promise<void> {
    this.#metrics = createMetrics();
    this.#provider = await awsProvider(
      {
        settings: parseAwsSettings(
          [`--cluster-name=${CLUSTER}`, `--interruption-queue=${CLUSTER}`, ...this.#flags],
          {},
        ),
        client: this.kube.client(),
        informers: this.kube.informers(),
        events: { publish: (...notes) => void this.events.push(...notes) },
        clock: this.clock,
        log: this.#recorded.log,
        metrics: this.#metrics,
        kubernetesVersion: async () => this.kubernetesVersion,
      },
      openFence(),
    );
    this.#controllers = this.#provider.controllers();
  }

  get provider(): AwsProvider['provider'] {
    if (this.#provider === undefined) throw new Error('not started');
    return this.#provider.provider;
  }

  async offerings() {
    return (await this.#provider?.offerings()) ?? [];
  }

  nodePool(name: string) {
    const found = this.kube.find(NODE_POOL, { name });
    if (found === undefined) throw new Error(`no NodePool ${name}`);
    return found;
  }

  metricsText(): Promise<string> {
    return this.#metrics.text();
  }

  #context() {
    return { signal: AbortSignal.timeout(20_000), log: this.#recorded.log };
  }

  /** Runs one pass of a singleton controller, or of one with its own keys. */
  async reconcile(name: string, key = 'all'): Promise<Outcome> {
    const found = this.#controllers.find((each) => each.name === name);
    if (found === undefined || 'watches' in found) throw new Error(`no controller ${name}`);
    return 'keyed' in found ? found.reconcile(key, this.#context()) : found.reconcile(this.#context());
  }

  async #reconcileClass(controller: string, name: string): Promise<Outcome> {
    const found = this.#controllers.find((each) => each.name === controller);
    const nodeClass = this.kube.find(EC2_NODE_CLASS, { name });
    if (found === undefined || !('watches' in found) || nodeClass === undefined) throw new Error('no NodeClass');
    return found.reconcile(nodeClass, this.#context());
  }

  reconcileNodeClass(name = 'default'): Promise<Outcome> {
    return this.#reconcileClass('nodeclass', name);
  }

  reconcileHash(name = 'default'): Promise<Outcome> {
    return this.#reconcileClass('nodeclass.hash', name);
  }

  /** Runs one reconcile of a NodeClaim controller. */
  async reconcileClaim(name: string, claim: NodeClaim): Promise<Outcome> {
    const found = this.#controllers.find((each) => each.name === name);
    if (found === undefined || !('watches' in found)) throw new Error(`no controller ${name}`);
    return found.reconcile(claim, this.#context());
  }

  nodeClass(name = 'default') {
    const found = this.kube.find(EC2_NODE_CLASS, { name });
    if (found === undefined) throw new Error(`no NodeClass ${name}`);
    return found;
  }

  claim(...requirements: readonly NodeClaimRequirement[]): NodeClaim {
    return this.kube.put(NODE_CLAIM, nodeClaimOf(`default-${this.#claims++}`, this.clock.now(), requirements));
  }

  /** Writes the result of the provider in the same way as the launch controller. */
  write(claim: NodeClaim): NodeClaim {
    return this.kube.put(NODE_CLAIM, claim);
  }

  /** Resolves when the instance has left `pending`. */
  async started(id: string): Promise<void> {
    if (this.aws.instances.get(id)?.state !== 'pending') return;
    await new Promise<void>((resolve) => {
      const stop = this.aws.instances.subscribe((instance) => {
        if (instance.id !== id || instance.state === 'pending') return;
        stop();
        resolve();
      });
    });
  }

  running(): readonly string[] {
    return this.aws.instances
      .list()
      .filter(({ state }) => state === 'pending' || state === 'running')
      .map(({ id }) => id);
  }

  close(): Promise<void> {
    return this.aws.close();
  }
}

export const only = (key: string, ...values: string[]): NodeClaimRequirement => ({ key, operator: 'In', values });
