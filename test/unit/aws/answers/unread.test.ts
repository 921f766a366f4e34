/**
 * The parts that are removed from DescribeInstanceTypes before parsing are never read, and no other part is removed.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EC2Client, type InstanceTypeInfo } from '@aws-sdk/client-ec2';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { LISTS, TEXTS, withChecks, withoutUnread } from '../../../../src/aws/answers/checked.ts';
import { fetchTypes } from '../../../../src/aws/instancetypes/discovery.ts';
import { wholeCatalogue } from '../../../support/catalogue.ts';
import { withinCpuTime } from '../../../support/cpu-time.ts';
import { Account } from '../support/account.ts';

const AWS = join(import.meta.dirname, '../../../../src/aws');
const CALL = { service: 'EC2', operation: 'DescribeInstanceTypes' };

/** Name in the form that the SDK uses. */
const field = (element: string): string => element.charAt(0).toUpperCase() + element.slice(1);
const UNREAD: ReadonlySet<string> = new Set([...TEXTS, ...LISTS].map(field));

/** Returns a copy without the fields that are not read. */
const pruned = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(pruned);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) => (UNREAD.has(name) ? [] : [[name, pruned(inner)]])),
  );
};

const text = (body: string): string => String(withoutUnread(CALL, Buffer.from(body)));

describe('a response to DescribeInstanceTypes', () => {
  let account: Account;
  let whole: ReadonlyMap<string, InstanceTypeInfo>;
  let read: ReadonlyMap<string, InstanceTypeInfo>;
  beforeAll(async () => {
    account = await Account.open({ catalogue: wholeCatalogue() });
    whole = await fetchTypes(new EC2Client({}), () => {});
    read = await fetchTypes(withChecks(new EC2Client({})), () => {});
  });
  afterAll(() => account.close());

  it('keeps every other field of every type', () => {
    expect(whole.size).toBeGreaterThan(700);
    expect(Object.fromEntries(read)).toEqual(pruned(Object.fromEntries(whole)));
    expect(JSON.stringify([...whole.values()]).length).toBeGreaterThan(1.5 * JSON.stringify([...read.values()]).length);
  });

  it('keeps every field that the code reads from types', () => {
    const readers = readdirSync(AWS, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => ({ file, source: readFileSync(join(AWS, file), 'utf8') }))
      .filter(({ source }) => /\b(InstanceTypeInfo|NetworkInfo|EbsInfo|VCpuInfo|InstanceStorageInfo)\b/.test(source));
    expect(readers.length).toBeGreaterThan(5);
    const read = readers.flatMap(({ file, source }) =>
      [...new Set(source.match(/\b[A-Z]\w+/g))].filter((word) => UNREAD.has(word)).map((word) => `${word} in ${file}`),
    );
    expect(read).toEqual([]);
  });

  it.each([
    ['<a><validCores><item>1</item><item>2</item></validCores><b>x</b></a>', '<a><b>x</b></a>'],
    ['<a>\n  <validCores>\n    <item>1</item>\n  </validCores>\n</a>', '<a>\n  \n</a>'],
    [
      '<a><ipv6Supported>required</ipv6Supported><ipv6SupportedElsewhere>1</ipv6SupportedElsewhere></a>',
      '<a><ipv6SupportedElsewhere>1</ipv6SupportedElsewhere></a>',
    ],
    ['<a><ipv6Supported/></a>', '<a><ipv6Supported/></a>'],
    ['<a><ipv6Supported><b>1</b></ipv6Supported></a>', '<a><ipv6Supported><b>1</b></ipv6Supported></a>'],
    ['<a><ipv6Supported>required', '<a><ipv6Supported>required'],
  ])('loses only the unread texts and lists: %s', (before, after) => {
    expect(text(before)).toBe(after);
  });

  it('is reduced in linear time for any content', () => {
    withinCpuTime(5_000, () => {
      for (const part of ['<ipv6Supported>', '<validCores><item>', '<validCores>\n\n<item>1</item>', '<'])
        text(part.repeat(2 ** 22 / part.length));
    });
  });

  it('is the only response that is changed', () => {
    const body = Buffer.from('<a><ipv6Supported>required</ipv6Supported></a>');
    expect(withoutUnread({ ...CALL, operation: 'DescribeImages' }, body)).toBe(body);
  });
});
