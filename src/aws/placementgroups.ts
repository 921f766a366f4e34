/** Resolves the placement group of a NodeClass. */
import { DescribePlacementGroupsCommand, type EC2Client } from '@aws-sdk/client-ec2';
import type { EC2NodeClass } from '#api/objects';
import { messageOf } from '#lib';
import { type Clock, LoadingCache, TtlCache } from '#lib/clock';
import { isNotFound } from './errors.ts';

export interface PlacementGroup {
  readonly id: string;
  readonly name: string;
  /** `cluster`, `partition` or `spread`. */
  readonly strategy: string;
  /** 0 unless the strategy is partition. */
  readonly partitions: number;
}

const ANSWER_TTL_MS = 60_000;
const LAST_GOOD_TTL_MS = 24 * 3_600_000;

interface Selector {
  readonly id?: string;
  readonly name?: string;
}

const keyOf = ({ id, name }: Selector): string => JSON.stringify([id, name]);

export class PlacementGroups {
  readonly #ec2: EC2Client;
  readonly #answers: LoadingCache<PlacementGroup | undefined>;
  readonly #lastGood: TtlCache<string, PlacementGroup>;

  constructor(ec2: EC2Client, clock: Clock) {
    this.#ec2 = ec2;
    this.#answers = new LoadingCache(clock, ANSWER_TTL_MS);
    this.#lastGood = new TtlCache(clock, LAST_GOOD_TTL_MS);
  }

  /** Returns undefined if there is no selector or no matching group. @throws Error if the request fails */
  async resolve(nodeClass: EC2NodeClass): Promise<PlacementGroup | undefined> {
    const selector = nodeClass.spec.placementGroupSelector;
    if (selector === undefined) return undefined;
    const key = keyOf(selector);
    const group = await this.#answers.get(key, () => this.#describe(selector));
    if (group !== undefined) this.#lastGood.set(key, group);
    return group;
  }

  /**
   * Like `resolve`, but if the request fails, returns the response of the last day.
   * @throws Error if there is no such response, because an unknown group is not an absent group
   */
  async current(nodeClass: EC2NodeClass): Promise<PlacementGroup | undefined> {
    try {
      return await this.resolve(nodeClass);
    } catch (error) {
      const known = this.remembered(nodeClass);
      if (known !== undefined) return known;
      throw new Error(`getting the placement group, ${messageOf(error)}`, { cause: error });
    }
  }

  /** Returns the group from the last response of AWS if it is less than a day old. Sends no request. */
  remembered({ spec: { placementGroupSelector: selector } }: EC2NodeClass): PlacementGroup | undefined {
    return selector && this.#lastGood.get(keyOf(selector));
  }

  async #describe(selector: Selector): Promise<PlacementGroup | undefined> {
    const ids = selector.id === undefined ? {} : { GroupIds: [selector.id] };
    const names = selector.name === undefined ? {} : { GroupNames: [selector.name] };
    try {
      const answer = await this.#ec2.send(
        new DescribePlacementGroupsCommand({ ...ids, ...names, Filters: [{ Name: 'state', Values: ['available'] }] }),
      );
      const group = answer.PlacementGroups?.[0];
      if (group === undefined) return undefined;
      return {
        id: group.GroupId ?? '',
        name: group.GroupName ?? '',
        strategy: group.Strategy ?? 'cluster',
        partitions: group.Strategy === 'partition' ? (group.PartitionCount ?? 0) : 0,
      };
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}
