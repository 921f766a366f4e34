/** Malicious or accidental messages in the interruption queue. */
import { ODD_KEYS } from './odd-values.ts';

export interface MessageInput {
  readonly name: string;
  readonly bodies: readonly string[];
  /** Indicates that the operator must report the message as unreadable. Other messages are read and ignored. */
  readonly isUnreadable: boolean;
}

const DETAIL_TYPES = [
  ['aws.ec2', 'EC2 Spot Instance Interruption Warning'],
  ['aws.ec2', 'EC2 Instance Rebalance Recommendation'],
  ['aws.ec2', 'EC2 Capacity Reservation Instance Interruption Warning'],
  ['aws.ec2', 'EC2 Instance State-change Notification'],
  ['aws.health', 'AWS Health Event'],
] as const;

type Fields = Readonly<Record<string, unknown>>;

/** Returns an event about an unknown instance, with the fields that any parser needs. */
const event = ([source, detailType]: readonly [string, string], fields: Fields = {}, detail: Fields = {}): string =>
  JSON.stringify({
    version: '0',
    id: 'f47ac10b-58cc-4372-a567-0e02b2c3d479',
    'detail-type': detailType,
    source,
    account: '000000000000',
    time: '2026-01-01T00:00:00Z',
    region: 'us-west-2',
    resources: [],
    detail: {
      'instance-id': 'i-0123456789abcdef0',
      'instance-action': 'terminate',
      state: 'terminated',
      service: 'EC2',
      eventTypeCategory: 'scheduledChange',
      affectedEntities: [{ entityValue: 'i-0123456789abcdef0' }],
      ...detail,
    },
    ...fields,
  });

const [SPOT] = DETAIL_TYPES;

const nested = (depth: number, open: string, close: string): string => open.repeat(depth) + close.repeat(depth);

const unreadable = (name: string, ...bodies: readonly string[]): MessageInput => ({ name, bodies, isUnreadable: true });
const ignored = (name: string, ...bodies: readonly string[]): MessageInput => ({ name, bodies, isUnreadable: false });

const TEXTS: readonly MessageInput[] = [
  unreadable('no JSON', 'warning: your instance is going away'),
  unreadable('JSON that is cut off', event(SPOT).slice(0, 120)),
  unreadable('a number', '42'),
  unreadable('null', 'null'),
  unreadable('a list', '[]'),
  unreadable('lists in lists, 100,000 deep', nested(100_000, '[', ']')),
  unreadable('text in quotes', JSON.stringify(event(SPOT))),
  ignored('nothing', ''),
  ignored('an empty object', '{}'),
  ignored('SQS’s own test event', '{"Service":"Amazon S3","Event":"s3:TestEvent"}'),
  ignored('an envelope of SNS', JSON.stringify({ Type: 'Notification', Message: event(SPOT) })),
  unreadable('NUL, BOM and half a character', '\u0000\ufeff\ud83d'),
  ignored(
    'objects in objects, 20,000 deep',
    event(SPOT).replace('{', `{"extra":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)},`),
  ),
  ignored('250 KB of detail', event(SPOT, {}, { note: 'x'.repeat(250_000) })),
  ignored('odd keys', ...ODD_KEYS.map((key) => event(SPOT, { [key]: key }, { [key]: { [key]: 1 } }))),
];

const ENVELOPES: readonly MessageInput[] = [
  ignored('another version', event(SPOT, { version: '1' })),
  ignored('a version that is a number', event(SPOT, { version: 0 })),
  ignored('no source', event(SPOT, { source: undefined })),
  ignored('a source that is an object', event(SPOT, { source: { toString: 'aws.ec2' } })),
  ignored('a source like a property', ...ODD_KEYS.map((source) => event(SPOT, { source, 'detail-type': source }))),
  ignored('another account', event(SPOT, { account: '999999999999' })),
  ignored('another region', event(SPOT, { region: 'mars-north-1' })),
  ignored('the year 1970', event(SPOT, { time: '1970-01-01T00:00:00Z' })),
  ignored('the year 9999', event(SPOT, { time: '9999-12-31T23:59:59Z' })),
  ignored('the year 275760', event(SPOT, { time: '+275760-09-13T00:00:00Z' })),
  unreadable('a time that is a number', event(SPOT, { time: 1_700_000_000 })),
  unreadable('a time that is none', event(SPOT, { time: 'yesterday' })),
  ignored('100,000 resources', event(SPOT, { resources: Array.from({ length: 20_000 }, (_, i) => `r${i}`) })),
];

const PER_TYPE = DETAIL_TYPES.flatMap((type): readonly MessageInput[] => {
  const isHealth = type[0] === 'aws.health';
  const id = isHealth ? 'affectedEntities' : 'instance-id';
  const one = (value: unknown): unknown => (isHealth ? [{ entityValue: value }] : value);
  return [
    ignored(`${type[1]}: an instance of somebody else`, event(type)),
    unreadable(`${type[1]}: detail that is a list`, event(type, { detail: [] })),
    unreadable(`${type[1]}: detail that is text`, event(type, { detail: 'i-0123456789abcdef0' })),
    unreadable(`${type[1]}: detail that is null`, event(type, { detail: null })),
    unreadable(`${type[1]}: an instance that is a number`, event(type, {}, { [id]: one(17) })),
    unreadable(`${type[1]}: an instance that is an object`, event(type, {}, { [id]: one({ id: 'i-1' }) })),
    // AWS Health events need not be about instances
    ...['an empty instance', 'no instance', 'an instance that is no ID'].map((what, i) => ({
      name: `${type[1]}: ${what}`,
      bodies: [event(type, {}, { [id]: one(['', undefined, 'aws:///us-west-2a/*'][i]) })],
      isUnreadable: !isHealth,
    })),
  ];
});

const HEALTH: readonly MessageInput[] = [
  unreadable('entities that are no list', event(DETAIL_TYPES[4], {}, { affectedEntities: { length: 1e9 } })),
  ignored('entities that are null', event(DETAIL_TYPES[4], {}, { affectedEntities: [null] })),
  ignored(
    '5,000 entities',
    event(
      DETAIL_TYPES[4],
      {},
      {
        affectedEntities: Array.from({ length: 5_000 }, (_, i) => ({
          entityValue: `i-${i.toString(16).padStart(17, '0')}`,
        })),
      },
    ),
  ),
  ignored('no entities', event(DETAIL_TYPES[4], {}, { affectedEntities: [] })),
];

/** Inputs of many messages. */
export const MESSAGE_FLOODS: readonly MessageInput[] = [
  ignored('500 duplicates', ...Array.from({ length: 500 }, () => event(SPOT))),
  ignored(
    '500 of different instances',
    ...Array.from({ length: 500 }, (_, i) =>
      event(SPOT, {}, { 'instance-id': `i-${i.toString(16).padStart(17, '0')}` }),
    ),
  ),
  unreadable('300 that nobody can read', ...Array.from({ length: 300 }, (_, i) => `{"broken ${i}`)),
];

export const MESSAGE_INPUTS: readonly MessageInput[] = [...TEXTS, ...ENVELOPES, ...PER_TYPE, ...HEALTH];
