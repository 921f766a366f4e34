/**
 * The condition `LaunchesProductive` of a NodePool. Its message is for people, and lets the next process continue
 * the back-offs.
 */
import {
  type ConditionUpdate,
  getCondition,
  isTrue,
  NODE_POOL,
  NODEPOOL_CONDITIONS,
  type NodePool,
  setCondition,
  type Taint,
} from '#api/objects';
import { formatTaint } from '#engine/model';
import type { LaunchCause, LaunchCauseCode } from '#engine/solve';
import { writeChanges } from '#kube/client';
import { timeOf } from '#lib';
import { monotonicMs, type Timepiece } from '#lib/clock';
import { wallTimeOf } from '#state';
import type { Deps } from '../deps.ts';
import { retryWrites } from '../retry.ts';
import { type Abandonment, type CauseRecord, LONGEST_BACK_OFF_MS } from './pool-budget.ts';

const LAUNCHES_PRODUCTIVE = 'LaunchesProductive';

const REASONS: Readonly<Record<LaunchCauseCode, string>> = {
  taint: 'TaintNotTolerated',
  label: 'LabelMissing',
  resource: 'ResourceMissing',
  'host-port': 'HostPortTaken',
  volume: 'VolumeNotAttachable',
  'not-used': 'NodesNotUsed',
  'never-joined': 'NodesNeverJoined',
  terminated: 'NodesTerminated',
};
const SEVERAL = 'SeveralCauses';
const ABANDONED = 'PodsDeleted';

/** Cause as the condition names it. */
function formatCause(cause: LaunchCause): string {
  const { code } = cause;
  switch (code) {
    case 'taint':
      return `${code} ${formatTaint(cause.taint)}`;
    case 'label':
      return `${code} ${[...cause.labels].map(([key, value]) => (value === undefined ? key : `${key}=${value}`)).join()}`;
    case 'resource':
      return `${code} ${cause.resource} ${cause.over} ${cause.upTo}`;
    case 'host-port':
      return `${code} ${cause.port}`;
    case 'volume':
    case 'not-used':
      return `${code} ${cause.likeness}`;
    case 'never-joined':
      return code;
    case 'terminated':
      return `${code} by ${cause.by}`;
  }
}

function parseTaint(text: string): Taint | undefined {
  const at = text.lastIndexOf(':');
  const [key, ...values] = text.slice(0, at).split('=');
  if (at <= 0 || !key) return undefined;
  const effect = text.slice(at + 1) as Taint['effect'];
  return { key, effect, ...(values.length > 0 && { value: values.join('=') }) };
}

/** Parses the text of `formatCause`. Returns undefined for other texts. */
function parseCause(text: string): LaunchCause | undefined {
  const [code = '', ...parts] = text.split(' ');
  const rest = parts.join(' ');
  switch (code as LaunchCauseCode) {
    case 'taint': {
      const taint = parseTaint(rest);
      return taint && { code: 'taint', taint };
    }
    case 'label':
      return { code: 'label', labels: new Map(rest.split(',').map(labelOf)) };
    case 'resource': {
      const [resource = '', over = '', upTo = ''] = parts;
      return { code: 'resource', resource, over: Number(over), upTo: Number(upTo) };
    }
    case 'host-port':
      return { code: 'host-port', port: Number(rest) };
    case 'volume':
    case 'not-used':
      return { code: code as 'volume' | 'not-used', likeness: rest };
    case 'never-joined':
      return { code: 'never-joined' };
    case 'terminated':
      return { code: 'terminated', by: rest.replace(/^by /, '') };
    default:
      return undefined;
  }
}

const NAMESPACES = ' in namespaces ';

/** Cause with the namespaces of the affected pods. No namespaces means all. */
const formatScope = ({ cause, namespaces }: CauseRecord): string =>
  formatCause(cause) + (namespaces === undefined ? '' : `${NAMESPACES}${[...namespaces].join(' ')}`);

function labelOf(text: string): readonly [string, string | undefined] {
  const at = text.indexOf('=');
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

/** Cause as the condition and `/debug/launches` report it. */
export interface ReportedCause {
  readonly record: CauseRecord;
  /** Cost until now, in USD. */
  readonly usd: number;
  /** Time of the next attempt, by `monotonicMs`; undefined while launches are not held back. */
  readonly nextMs: number | undefined;
}

const CENTS_OF_CENTS = 4;
const [CAUSE, COUNT, COST, NEXT] = [' [', ']: ', ', $', ', next attempt at '];

const causeText = (clock: Timepiece, { record, usd, nextMs }: ReportedCause): string => {
  const { text, nodes } = record;
  const next = nextMs === undefined ? '' : `${NEXT}${wallTimeOf(clock, nextMs)}`;
  const count = `${nodes} ${nodes === 1 ? 'node' : 'nodes'}`;
  return `${text}${CAUSE}${formatScope(record)}${COUNT}${count}${COST}${usd.toFixed(CENTS_OF_CENTS)}${next}`;
};

const SEPARATOR = '; ';
/** Longest message that the CRD allows, without room for the last segment of `joinCauses`. */
const LONGEST_MESSAGE = 32_768 - 64;

/** Joins as many texts as a message may hold, and counts the remaining texts. A pod may select hundreds of labels. */
function joinCauses(texts: readonly string[]): string {
  let room = LONGEST_MESSAGE;
  const kept = texts.filter((text) => {
    const isKept = text.length + SEPARATOR.length <= room;
    if (isKept) room -= text.length + SEPARATOR.length;
    return isKept;
  });
  const left = texts.length - kept.length;
  return [
    ...kept,
    ...(left > 0 ? [`${left} longer ${left === 1 ? 'cause' : 'causes'}: see /debug/launches`] : []),
  ].join(SEPARATOR);
}

/** Text of a restriction that ends by itself. A restart forgets it, so the text has no form that `restoredCauses` reads. */
const abandonmentText = ({ namespace, nodes }: Abandonment): string =>
  `${nodes} ${nodes === 1 ? 'node was' : 'nodes were'} launched for pods of namespace ${namespace} that were deleted before a pod ` +
  'was bound; further launches for this namespace are limited';

export function launchCondition(
  clock: Timepiece,
  causes: readonly ReportedCause[],
  abandonments: readonly Abandonment[] = [],
): ConditionUpdate {
  const held = causes.filter(({ nextMs }) => nextMs !== undefined);
  const [first] = held;
  const count = held.length + abandonments.length;
  if (count === 0) return { type: LAUNCHES_PRODUCTIVE, status: 'True' };
  const reason = first === undefined ? ABANDONED : REASONS[first.record.cause.code];
  return {
    type: LAUNCHES_PRODUCTIVE,
    status: 'False',
    reason: held.length > 0 && count > 1 ? SEVERAL : reason,
    message: joinCauses([...held.map((cause) => causeText(clock, cause)), ...abandonments.map(abandonmentText)]),
  };
}

/** Reports whether an earlier process wrote that launches are held back or limited. */
export const hasLimitedLaunches = (pool: NodePool): boolean =>
  getCondition(pool, LAUNCHES_PRODUCTIVE)?.status === 'False';

function splitAtLast(text: string, separator: string): readonly [string, string] {
  const at = text.lastIndexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + separator.length)];
}

/** Reads the causes that an earlier process wrote. Segments that cannot be read are left out. */
export function restoredCauses(clock: Timepiece, pool: NodePool): readonly CauseRecord[] {
  const { status, message = '', observedGeneration } = getCondition(pool, LAUNCHES_PRODUCTIVE) ?? {};
  // an edit meanwhile may have removed the causes
  if (status !== 'False' || observedGeneration !== pool.metadata.generation) return [];
  const nowMs = monotonicMs(clock);
  return message.split(SEPARATOR).flatMap((segment) => {
    const [beforeNext, until] = splitAtLast(segment, NEXT);
    const [beforeCost, usd] = splitAtLast(beforeNext, COST);
    const [beforeCount, count] = splitAtLast(beforeCost, COUNT);
    const [text, scope] = splitAtLast(beforeCount, CAUSE);
    const [shownCause = '', names] = scope.split(NAMESPACES);
    const cause = parseCause(shownCause);
    const leftMs = timeOf(until) - clock.now();
    const nodes = Number.parseInt(count, 10);
    if (cause === undefined || Number.isNaN(leftMs + nodes + Number(usd))) return [];
    return {
      cause,
      text,
      nodes,
      usd: Number(usd),
      failures: nodes,
      namespaces: names === undefined ? undefined : new Set(names.split(' ')),
      times: Math.max(1, nodes - 1),
      firstCreatedMs: nowMs,
      heldMs: nowMs,
      untilMs: nowMs + Math.min(Math.max(leftMs, 0), 2 * LONGEST_BACK_OFF_MS),
    };
  });
}

/** Writes the condition. A NodePool that never had a problem does not get it. */
export async function writeLaunchCondition(deps: Deps, name: string, update: ConditionUpdate): Promise<void> {
  const { client, clock } = deps;
  await retryWrites(deps, async () => {
    const before = await client.find(NODE_POOL, { name });
    if (before === undefined) return;
    const isNews = update.status !== 'True' || getCondition(before, LAUNCHES_PRODUCTIVE) !== undefined;
    if (!isNews || (update.status === 'True' && isTrue(before, LAUNCHES_PRODUCTIVE))) return;
    const after = setCondition(before, NODEPOOL_CONDITIONS, update, clock.now());
    await writeChanges(client, NODE_POOL, { before, after }, { part: 'status', lock: true });
  });
}
