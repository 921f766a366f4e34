/** EventBridge events about instances, as the queue delivers them. */
import { isObject, type JsonObject, parseJson } from '#lib';

export type MessageKind =
  | 'spot_interrupted'
  | 'rebalance_recommendation'
  | 'capacity_reservation_interrupted'
  | 'instance_stopped'
  | 'instance_terminated'
  | 'scheduled_change'
  | 'no_op';

export interface Message {
  readonly kind: MessageKind;
  readonly instanceIds: readonly string[];
  /** Time of this event. Undefined if the event has no time. */
  readonly timeMs: number | undefined;
  /** Start of a scheduled change. Undefined if the event has no start. */
  readonly notBeforeMs?: number | undefined;
  /** True for a scheduled change that was cancelled or has ended. */
  readonly isClosed?: boolean;
}

interface Envelope {
  readonly version?: unknown;
  readonly source?: unknown;
  readonly 'detail-type'?: unknown;
  readonly time?: unknown;
  readonly detail?: unknown;
}

function text(detail: JsonObject, field: string): string {
  const value = detail[field] ?? '';
  if (typeof value !== 'string') throw new Error(`detail.${field} is not a string`);
  return value;
}

/** Format of instance IDs. */
const INSTANCE_ID = /^i-[0-9a-z]{1,32}$/;

/** @throws Error if the field does not contain an instance ID */
function instanceId(detail: JsonObject, field: string): string {
  const value = text(detail, field);
  if (!INSTANCE_ID.test(value)) throw new Error(`detail.${field} is not the ID of an instance`);
  return value;
}

type Parsed = Omit<Message, 'timeMs'>;
type Parser = (detail: JsonObject) => Parsed;

const nothing: Parsed = { kind: 'no_op', instanceIds: [] };
const aboutInstance =
  (kind: MessageKind): Parser =>
  (detail) => ({ kind, instanceIds: [instanceId(detail, 'instance-id')] });

const ENDING_STATES = new Set(['stopping', 'stopped', 'shutting-down', 'terminated']);

function stateChange(detail: JsonObject): Parsed {
  const state = text(detail, 'state');
  if (!ENDING_STATES.has(state.toLowerCase())) return nothing;
  const kind = state === 'stopping' || state === 'stopped' ? 'instance_stopped' : 'instance_terminated';
  return { kind, instanceIds: [instanceId(detail, 'instance-id')] };
}

function healthEvent(detail: JsonObject): Parsed {
  if (text(detail, 'service') !== 'EC2' || text(detail, 'eventTypeCategory') !== 'scheduledChange') return nothing;
  const entities: unknown = detail.affectedEntities ?? [];
  if (!Array.isArray(entities)) throw new Error('detail.affectedEntities is not a list');
  const values = entities.map((entity) => (isObject(entity) ? text(entity, 'entityValue') : ''));
  // dedicated hosts and volumes also have such events
  const instanceIds = values.filter((value) => INSTANCE_ID.test(value));
  const startMs = Date.parse(text(detail, 'startTime'));
  const notBeforeMs = Number.isNaN(startMs) ? undefined : startMs;
  return { kind: 'scheduled_change', instanceIds, notBeforeMs, isClosed: text(detail, 'statusCode') === 'closed' };
}

/** Parsers by source and detail type. Both apply to version 0 of the envelope. */
const PARSERS: Readonly<Record<string, Parser>> = {
  'aws.ec2/EC2 Spot Instance Interruption Warning': aboutInstance('spot_interrupted'),
  'aws.ec2/EC2 Instance Rebalance Recommendation': aboutInstance('rebalance_recommendation'),
  'aws.ec2/EC2 Capacity Reservation Instance Interruption Warning': aboutInstance('capacity_reservation_interrupted'),
  'aws.ec2/EC2 Instance State-change Notification': stateChange,
  'aws.health/AWS Health Event': healthEvent,
};

/**
 * Parses the body of a message. Other events have the kind `no_op`.
 * @throws Error if the body is missing or malformed
 */
export function parseMessage(body: string | undefined): Message {
  if (body === undefined) throw new Error('the message has no body');
  if (body === '') return { ...nothing, timeMs: undefined };
  const envelope = parseJson(body);
  if (!isObject(envelope)) throw new Error('the body is not a JSON object');
  const { version, source, 'detail-type': detailType, time, detail }: Envelope = envelope;
  const timeMs = typeof time === 'string' && !Number.isNaN(Date.parse(time)) ? Date.parse(time) : undefined;
  const isKnown = version === '0' && typeof source === 'string' && typeof detailType === 'string';
  const parser = isKnown ? PARSERS[`${source}/${detailType}`] : undefined;
  if (parser === undefined) return { ...nothing, timeMs };
  if (time !== undefined && timeMs === undefined) throw new Error('time is not RFC 3339');
  if (detail !== undefined && !isObject(detail)) throw new Error('detail is not an object');
  return { ...parser(detail ?? {}), timeMs };
}
