/** Tags of all resources that support them. */
import type {
  CreateTagsRequest,
  DeleteTagsRequest,
  DescribeTagsRequest,
  DescribeTagsResult,
  Tag,
  TagSpecification,
} from '@aws-sdk/client-ec2';
import { put } from '#lib';
import { applyFilters, page } from '../filters.ts';
import type { Account } from '../state/account.ts';
import type { Machine } from '../state/machines.ts';
import type { Tags } from '../types.ts';
import { AwsError, missingParameter } from '../wire/error.ts';
import { refuseDryRun } from './dry-run.ts';
import { prefixOf, resourceTypeOf, unknownId } from './ids.ts';

const MAX_TAGS = 50;
const MAX_KEY = 128;
const MAX_VALUE = 256;

export const ec2Tags = (tags: Tags): Tag[] => Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));

/** @throws AwsError for keys and values that EC2 refuses */
function tagRecord(tags: readonly Tag[] | undefined): Tags {
  const record: Record<string, string> = {};
  for (const { Key: key, Value: value = '' } of tags ?? []) {
    if (!key || key.length > MAX_KEY) {
      throw new AwsError('InvalidParameterValue', `Tag key '${key ?? ''}' must have 1 to ${MAX_KEY} characters`);
    }
    if (value.length > MAX_VALUE) {
      throw new AwsError('InvalidParameterValue', `The value of tag '${key}' exceeds ${MAX_VALUE} characters`);
    }
    if (key.toLowerCase().startsWith('aws:')) {
      throw new AwsError(
        'InvalidParameterValue',
        `Tag keys starting with 'aws:' are reserved for internal use: '${key}'`,
      );
    }
    put(record, key, value);
  }
  if (Object.keys(record).length > MAX_TAGS) {
    throw new AwsError('TagLimitExceeded', `More than ${MAX_TAGS} tags specified`);
  }
  return record;
}

/** Returns the tags of one resource type in a request's tag specifications. Later specifications take precedence. */
export function specifiedTags(specifications: readonly TagSpecification[] | undefined, resourceType: string): Tags {
  const wanted = (specifications ?? []).filter((each) => each.ResourceType === resourceType);
  return Object.fromEntries(wanted.flatMap((each) => Object.entries(tagRecord(each.Tags))));
}

interface Taggable {
  readonly id: string;
  readonly read: () => Tags;
  readonly write: (tags: Tags) => void;
}

const holder = (id: string, object: { tags: Tags }): Taggable => ({
  id,
  read: () => object.tags,
  write: (tags) => {
    object.tags = tags;
  },
});

const visible = (account: Account): readonly Machine[] => {
  const now = account.clock.now();
  return account.machines.all().filter((machine) => machine.visibleAt <= now);
};

const requestHolder = (machine: Machine, id: string): Taggable => ({
  id,
  read: () => machine.spotRequestTags,
  write: (tags) => {
    machine.spotRequestTags = tags;
  },
});

const volumeHolder = ({ volumeTags }: Machine, id: string): Taggable => ({
  id,
  read: () => volumeTags.get(id) ?? {},
  write: (tags) => {
    volumeTags.set(id, tags);
  },
});

type Store = ReadonlyMap<string, { tags: Tags }>;

const stores = (account: Account): readonly Store[] => [
  account.subnets,
  account.securityGroups,
  account.vpcs,
  account.images,
  account.templates,
  account.reservations,
  account.placementGroups,
];

/** Returns all resources with tags, in a fixed order. New instances are hidden until they are visible everywhere. */
function taggables(account: Account): Taggable[] {
  const machines = visible(account);
  return [
    ...machines.map((machine) => holder(machine.id, machine)),
    ...machines.flatMap((machine) => (machine.spotRequestId ? requestHolder(machine, machine.spotRequestId) : [])),
    ...machines.flatMap((machine) => machine.interfaces.map((each) => holder(each.id, each))),
    ...machines.flatMap((machine) => machine.volumes.map((volume) => volumeHolder(machine, volume.id))),
    ...stores(account).flatMap((store) => [...store].map(([id, object]) => holder(id, object))),
  ];
}

/** Finds one resource by id. Instances are looked up directly, because operators tag each of them. */
function findTaggable(account: Account, id: string): Taggable | undefined {
  const machine = account.machines.machine(id);
  if (machine) return machine.visibleAt <= account.clock.now() ? holder(id, machine) : undefined;
  for (const store of stores(account)) {
    const object = store.get(id);
    if (object) return holder(id, object);
  }
  for (const owner of visible(account)) {
    const own = owner.interfaces.find((each) => each.id === id);
    if (own) return holder(id, own);
    if (owner.spotRequestId === id) return requestHolder(owner, id);
    if (owner.volumeTags.has(id)) return volumeHolder(owner, id);
  }
  return undefined;
}

function pick(account: Account, ids: readonly string[] | undefined): Taggable[] {
  if (!ids || ids.length === 0) throw missingParameter('ResourceId');
  return ids.map((id) => {
    const found = findTaggable(account, id);
    if (found) return found;
    const prefix = prefixOf(id);
    if (!prefix) throw new AwsError('InvalidID', `The ID '${id}' is not valid`);
    throw unknownId(id, prefix);
  });
}

export function createTags(account: Account, input: CreateTagsRequest): object {
  const targets = pick(account, input.Resources);
  if (!input.Tags?.length) throw missingParameter('Tag');
  const added = tagRecord(input.Tags);
  refuseDryRun(input);
  const merged = targets.map((target) => ({ target, tags: { ...target.read(), ...added } }));
  for (const { tags } of merged) {
    const own = Object.keys(tags).filter((key) => !key.startsWith('aws:'));
    if (own.length > MAX_TAGS) throw new AwsError('TagLimitExceeded', `The maximum number of tags is ${MAX_TAGS}`);
  }
  for (const { target, tags } of merged) target.write(tags);
  return {};
}

/**
 * Deletes tags. Without tags in the request, all tags are deleted. A tag with a value is deleted only if the value is
 * equal.
 */
export function deleteTags(account: Account, input: DeleteTagsRequest): object {
  const targets = pick(account, input.Resources);
  refuseDryRun(input);
  for (const target of targets) {
    const kept = Object.entries(target.read()).filter(([key, value]) => {
      if (!input.Tags?.length) return key.startsWith('aws:');
      const match = input.Tags.find((tag) => tag.Key === key);
      return !match || (match.Value !== undefined && match.Value !== value);
    });
    target.write(Object.fromEntries(kept));
  }
  return {};
}

export function describeTags(account: Account, input: DescribeTagsRequest): DescribeTagsResult {
  const rows = taggables(account).flatMap(({ id, read }) => {
    const prefix = prefixOf(id);
    const type = prefix ? resourceTypeOf(prefix) : '';
    return Object.entries(read()).map(([key, value]) => ({ id, type, key, value }));
  });
  const found = applyFilters(rows, input.Filters, {
    'resource-id': (row) => row.id,
    'resource-type': (row) => row.type,
    key: (row) => row.key,
    value: (row) => row.value,
  });
  const { items, next } = page(found, input, { min: 5, max: 1000 });
  return {
    Tags: items.map((row) => ({
      ResourceId: row.id,
      ResourceType: row.type as NonNullable<NonNullable<DescribeTagsResult['Tags']>[number]['ResourceType']>,
      Key: row.key,
      Value: row.value,
    })),
    NextToken: next,
  };
}
