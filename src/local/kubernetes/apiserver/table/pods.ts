/** Columns of pods. */
import { humanDuration } from '#lib';
import { type ApiObject, at, type Json, record, records, text } from '../json.ts';
import { AGE, column, NAME, orNone, type PrintedColumn, wide } from '../resources/columns.ts';

const statuses = (pod: ApiObject, field: string): readonly Json[] => records(at(pod, 'status', field));

function ready(pod: ApiObject): string {
  const sidecars = records(at(pod, 'spec', 'initContainers')).filter(({ restartPolicy }) => restartPolicy === 'Always');
  const names = new Set(sidecars.map(({ name }) => name));
  const total = records(at(pod, 'spec', 'containers')).length + sidecars.length;
  const counted = [
    ...statuses(pod, 'containerStatuses'),
    ...statuses(pod, 'initContainerStatuses').filter(({ name }) => names.has(name)),
  ];
  return `${counted.filter((status) => status.ready === true).length}/${total}`;
}

/** Returns the reason of a container's waiting or termination if it is displayed instead of the phase. */
function containerReason(pod: ApiObject): string | undefined {
  for (const status of statuses(pod, 'containerStatuses').toReversed()) {
    const waiting = text(at(status, 'state', 'waiting', 'reason'));
    if (waiting !== '') return waiting;
    const terminated = record(at(status, 'state', 'terminated'));
    if (text(terminated.reason) !== '') return text(terminated.reason);
    if ('exitCode' in terminated) return `ExitCode:${String(terminated.exitCode)}`;
  }
  return undefined;
}

/** Returns the STATUS column of `kubectl get pods`. */
function status(pod: ApiObject): string {
  if (pod.metadata.deletionTimestamp !== undefined) {
    return at(pod, 'status', 'reason') === 'NodeLost' ? 'Unknown' : 'Terminating';
  }
  const gated = records(at(pod, 'status', 'conditions')).some(({ reason }) => reason === 'SchedulingGated');
  if (gated) return 'SchedulingGated';
  const phase = text(at(pod, 'status', 'phase'));
  return containerReason(pod) ?? (text(at(pod, 'status', 'reason')) || phase || 'Unknown');
}

function restarts(pod: ApiObject, nowMs: number): string {
  const counted = statuses(pod, 'containerStatuses');
  const total = counted.reduce((sum, one) => sum + Number(one.restartCount ?? 0), 0);
  const last = Math.max(...counted.map((one) => Date.parse(text(at(one, 'lastState', 'terminated', 'finishedAt')))), 0);
  return total > 0 && last > 0 ? `${total} (${humanDuration(nowMs - last)} ago)` : String(total);
}

function gates(pod: ApiObject): string {
  const wanted = records(at(pod, 'spec', 'readinessGates'));
  if (wanted.length === 0) return '<none>';
  const conditions = statuses(pod, 'conditions');
  const met = wanted.filter(({ conditionType }) =>
    conditions.some((one) => one.type === conditionType && one.status === 'True'),
  );
  return `${met.length}/${wanted.length}`;
}

export const POD_COLUMNS: readonly PrintedColumn[] = [
  NAME,
  column('Ready', ready),
  column('Status', status),
  column('Restarts', restarts),
  AGE,
  wide('IP', (pod) => orNone(at(pod, 'status', 'podIP'))),
  wide('Node', (pod) => orNone(at(pod, 'spec', 'nodeName'))),
  wide('Nominated Node', (pod) => orNone(at(pod, 'status', 'nominatedNodeName'))),
  wide('Readiness Gates', gates),
];
