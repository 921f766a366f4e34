/** Looks up, lists, terminates and tags the instances of the cluster. */
import {
  CreateTagsCommand,
  type Instance as Described,
  DescribeInstancesCommand,
  type EC2Client,
  paginateDescribeInstances,
  RebootInstancesCommand,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2';
import { EC2_NODECLASS_LABEL, NODEPOOL_LABEL, type StringMap } from '#api/objects';
import { NodeClaimNotFound } from '#cloud';
import { messageOf, own } from '#lib';
import { type Clock, TtlCache } from '#lib/clock';
import { UnusableAnswer } from '../answers/unusable.ts';
import { isNotFound } from '../errors.ts';
import { isOfAnotherCluster } from '../identity.ts';
import type { AwsMetrics } from '../metrics.ts';
import { pagesOf } from '../pages.ts';
import { forMany, RequestBatcher } from '../request-batcher.ts';
import { CLUSTER_NAME_TAG, CLUSTER_UID_TAG, tagList } from '../tags.ts';
import type { ShiftedZones } from '../zonalshift/zonalshift.ts';
import { fromDescription, type Instance, isTerminating } from './instance.ts';

const ALIVE = {
  Name: 'instance-state-name',
  Values: ['pending', 'running', 'stopping', 'stopped', 'shutting-down'],
};
const LIST_CALL = { service: 'EC2', operation: 'DescribeInstances' };
const MAX_BATCH = 500;
/** Time for which the state of a terminating instance is cached. A termination cannot be undone. */
const ENDING_TTL_MS = 1_000;
/** Terminated instances stay terminated, and EC2 removes them after about an hour. */
const ENDED_TTL_MS = 3_600_000;
/** Maximum delay until reads of EC2 show a launch. */
const LISTED_AFTER_MS = 60_000;

interface InstancesOptions {
  readonly ec2: EC2Client;
  readonly clusterName: string;
  /** Instances of a cluster with another UID are ignored. */
  readonly clusterUid?: string | undefined;
  readonly reservedCapacity: boolean;
  /** EC2's responses about instances in these zones may be missing or wrong, so they are ignored. */
  readonly shifts: ShiftedZones;
  readonly clock: Clock;
  readonly metrics: AwsMetrics;
}

export class Instances {
  readonly #options: InstancesOptions;
  readonly #known = new Map<string, Instance>();
  /** IDs of instances that were launched recently. EC2's reads may not show them yet. */
  readonly #new: TtlCache<string, true>;
  readonly #ending: TtlCache<string, Instance>;
  readonly #ended: TtlCache<string, true>;
  #foreign: readonly Instance[] = [];
  readonly #describe: RequestBatcher<string, Described | undefined>;
  readonly #terminate: RequestBatcher<string, true | undefined>;

  constructor(options: InstancesOptions) {
    this.#options = options;
    this.#new = new TtlCache(options.clock, LISTED_AFTER_MS);
    this.#ending = new TtlCache(options.clock, ENDING_TTL_MS);
    this.#ended = new TtlCache(options.clock, ENDED_TTL_MS);
    const common = {
      clock: options.clock,
      idleMs: 100,
      maxMs: 1000,
      maxItems: MAX_BATCH,
      bucket: () => '',
      metrics: options.metrics,
    };
    this.#describe = new RequestBatcher({
      ...common,
      name: 'describe_instances',
      run: (ids) => forMany(ids, (some) => this.#describeIds(some)),
    });
    this.#terminate = new RequestBatcher({
      ...common,
      name: 'terminate_instances',
      run: (ids) => forMany(ids, (some) => this.#terminateIds(some)),
    });
  }

  async #describeIds(ids: readonly string[]): Promise<ReadonlyMap<string, Described>> {
    // Without a filter, so that terminated instances are returned too. An instance that is missing in the response is
    // not treated as terminated.
    const answer = await this.#options.ec2.send(new DescribeInstancesCommand({ InstanceIds: [...ids] }));
    const instances = (answer.Reservations ?? []).flatMap((reservation) => reservation.Instances ?? []);
    return new Map(instances.map((instance) => [instance.InstanceId ?? '', instance]));
  }

  /** Returns the IDs of instances that EC2 is now terminating. */
  async #terminateIds(ids: readonly string[]): Promise<ReadonlyMap<string, true>> {
    const answer = await this.#options.ec2.send(new TerminateInstancesCommand({ InstanceIds: [...ids] }));
    const done = (answer.TerminatingInstances ?? []).filter(({ CurrentState }) =>
      ['shutting-down', 'terminated'].includes(CurrentState?.Name ?? ''),
    );
    return new Map(done.map(({ InstanceId = '' }) => [InstanceId, true]));
  }

  /** Returns true if the instance was launched so recently that EC2's reads may not show it yet. */
  #isNew(id: string): boolean {
    return this.#known.has(id) && this.#new.has(id);
  }

  #isForeign({ tags }: Instance): boolean {
    return isOfAnotherCluster(tags, this.#options.clusterUid);
  }

  /** Instances of another cluster with the same name, from the latest list. */
  get foreign(): readonly Instance[] {
    return this.#foreign;
  }

  #isShifted({ zoneId }: Instance): boolean {
    return this.#options.shifts.until(zoneId) !== undefined;
  }

  /** @throws NodeClaimNotFound also if the instance belongs to another cluster, so that it is never terminated or tagged */
  async get(id: string, options: { readonly skipCache?: boolean } = {}): Promise<Instance> {
    const known = this.#known.get(id);
    if (known !== undefined && (options.skipCache !== true || this.#isShifted(known))) return known;
    const ending = this.#ending.get(id);
    if (ending !== undefined) return ending;
    if (this.#ended.has(id)) throw new NodeClaimNotFound(`instance ${id} does not exist`);
    const described = await this.#described(id);
    if (described === undefined) {
      this.#known.delete(id);
      throw new NodeClaimNotFound(`instance ${id} does not exist`);
    }
    const instance = fromDescription(described, this.#options.reservedCapacity);
    if (this.#isForeign(instance)) {
      this.#known.delete(id);
      throw new NodeClaimNotFound(`instance ${id} belongs to another cluster according to its tag ${CLUSTER_UID_TAG}`);
    }
    this.remember(instance);
    if (isTerminating(instance)) this.#ending.set(id, instance);
    return instance;
  }

  /**
   * Returns undefined if EC2 reports that the instance is terminated, or does not find an instance that is no longer
   * new.
   */
  async #described(id: string): Promise<Described | undefined> {
    try {
      const described = await this.#describe.add(id);
      if (described === undefined) throw new Error('EC2 returned no data for the instance');
      if (described.State?.Name !== 'terminated') return described;
      // Caches only instances that EC2 reports as terminated. An ID that is not found may be too new for EC2's reads.
      this.#ended.set(id, true);
      return undefined;
    } catch (error) {
      if (isNotFound(error) && !this.#isNew(id)) return undefined;
      throw new Error(`describing instance ${id}, ${messageOf(error)}`, { cause: error });
    }
  }

  /** Stores the data that a launch returned about an instance, until the instance is described. */
  remember(instance: Instance): Instance {
    const newForMs = Math.min(LISTED_AFTER_MS, instance.launchedMs + LISTED_AFTER_MS - this.#options.clock.now());
    if (newForMs > 0 && !this.#known.has(instance.id)) this.#new.set(instance.id, true, newForMs);
    this.#known.set(instance.id, instance);
    return instance;
  }

  /** Lists every instance of the cluster that is not terminated, including new instances that EC2 does not show yet. */
  async list(): Promise<readonly Instance[]> {
    const described = await this.#describeTagged();
    this.#foreign = described.filter((instance) => this.#isForeign(instance));
    const found = described.filter((instance) => !this.#isForeign(instance));
    this.#ending.sweep();
    this.#ended.sweep();
    this.#new.sweep();
    for (const [id, instance] of [...this.#known])
      if (!this.#isNew(id) && !this.#isShifted(instance)) this.#known.delete(id);
    const listed = new Set(found.map(({ id }) => id));
    for (const instance of this.#known.values())
      if (this.#isNew(instance.id) && !listed.has(instance.id) && !isTerminating(instance)) found.push(instance);
    for (const instance of found) this.remember(instance);
    return found;
  }

  /** Returns instances with the tags of the cluster, including instances of another cluster with the same name. */
  async #describeTagged(): Promise<readonly Instance[]> {
    const Filters = [
      { Name: 'tag-key', Values: [NODEPOOL_LABEL] },
      { Name: 'tag-key', Values: [EC2_NODECLASS_LABEL] },
      { Name: `tag:${CLUSTER_NAME_TAG}`, Values: [this.#options.clusterName] },
      ALIVE,
    ];
    const found: Instance[] = [];
    for await (const page of pagesOf(
      'DescribeInstances',
      paginateDescribeInstances({ client: this.#options.ec2 }, { Filters, MaxResults: 1000 }),
    ))
      for (const reservation of page.Reservations ?? [])
        for (const described of reservation.Instances ?? []) found.push(this.#taggedFrom(described));
    return found;
  }

  /**
   * @throws UnusableAnswer for an instance without the requested tags, because instances without a NodeClaim are
   * terminated
   */
  #taggedFrom(described: Described): Instance {
    const { clusterName, reservedCapacity } = this.#options;
    const instance = fromDescription(described, reservedCapacity);
    const { tags } = instance;
    const isTagged =
      own(tags, CLUSTER_NAME_TAG) === clusterName &&
      own(tags, NODEPOOL_LABEL) !== undefined &&
      own(tags, EC2_NODECLASS_LABEL) !== undefined;
    if (isTagged) return instance;
    throw new UnusableAnswer(LIST_CALL, `instance ${instance.id} does not have the requested tags`);
  }

  /**
   * Starts the termination. Call again until NodeClaimNotFound is thrown.
   * @throws NodeClaimNotFound if the instance is terminated
   */
  async terminate(id: string): Promise<void> {
    const instance = await this.get(id, { skipCache: true });
    if (this.#isShifted(instance))
      throw new Error(
        `instance ${id} is in zonally shifted availability zone ${instance.zone} (${instance.zoneId}), skipping termination`,
      );
    if (instance.state === 'shutting-down') return;
    try {
      if ((await this.#terminate.add(id)) === undefined)
        throw new Error('EC2 did not confirm that the instance is shutting down');
    } catch (error) {
      if (isNotFound(error) && !this.#isNew(id))
        throw new NodeClaimNotFound(`instance ${id} does not exist`, { cause: error });
      this.#options.metrics.terminationFailures.inc({ zone: instance.zone, zone_id: instance.zoneId });
      throw new Error(`terminating instance ${id}, ${messageOf(error)}`, { cause: error });
    }
    this.#known.set(id, { ...instance, state: 'shutting-down' });
  }

  /** @throws NodeClaimNotFound if the instance is terminated */
  async reboot(id: string): Promise<void> {
    const { state } = await this.get(id, { skipCache: true });
    if (state !== 'running') throw new Error(`instance ${id} is ${state} and cannot be rebooted`);
    try {
      await this.#options.ec2.send(new RebootInstancesCommand({ InstanceIds: [id] }));
    } catch (error) {
      throw new Error(`rebooting instance ${id}, ${messageOf(error)}`, { cause: error });
    }
  }

  /** @throws NodeClaimNotFound */
  async tag(id: string, tags: StringMap): Promise<void> {
    const known = this.#known.get(id);
    if (known !== undefined && this.#isShifted(known))
      throw new Error(
        `instance ${id} is in zonally shifted availability zone ${known.zone} (${known.zoneId}), skipping tagging`,
      );
    try {
      await this.#options.ec2.send(new CreateTagsCommand({ Resources: [id], Tags: tagList(tags) }));
    } catch (error) {
      if (isNotFound(error)) throw new NodeClaimNotFound(`instance ${id} does not exist`, { cause: error });
      throw error;
    }
  }
}
