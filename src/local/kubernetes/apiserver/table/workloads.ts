/** Columns of workloads and Jobs. */
import { humanDuration } from '#lib';
import { type ApiObject, at, records, text } from '../json.ts';
import { AGE, column, NAME, orNone, type PrintedColumn, wide } from '../resources/columns.ts';
import { selectorText } from '../selectors.ts';

const number =
  (...path: readonly string[]) =>
  (object: ApiObject): number =>
    Number(at(object, ...path) ?? 0);

const count = (name: string, ...path: readonly string[]): PrintedColumn =>
  column(name, number(...path), { type: 'integer' });

const containers =
  (field: string, ...path: readonly string[]) =>
  (object: ApiObject): string =>
    records(at(object, ...path, 'template', 'spec', 'containers'))
      .map((container) => text(container[field]))
      .join(',');

const CONTAINERS = wide('Containers', containers('name', 'spec'));
const IMAGES = wide('Images', containers('image', 'spec'));
const SELECTOR = wide('Selector', (object) => orNone(selectorText(at(object, 'spec', 'selector'))));
/** Last columns of most workloads. */
const PODS = [AGE, CONTAINERS, IMAGES, SELECTOR];

export const DEPLOYMENT_COLUMNS: readonly PrintedColumn[] = [
  NAME,
  column('Ready', (d) => `${number('status', 'readyReplicas')(d)}/${number('spec', 'replicas')(d)}`),
  // Numbers in text columns, as in Kubernetes.
  column('Up-to-date', number('status', 'updatedReplicas')),
  column('Available', number('status', 'availableReplicas')),
  ...PODS,
];

export const REPLICA_SET_COLUMNS: readonly PrintedColumn[] = [
  NAME,
  count('Desired', 'spec', 'replicas'),
  count('Current', 'status', 'replicas'),
  count('Ready', 'status', 'readyReplicas'),
  ...PODS,
];

export const STATEFUL_SET_COLUMNS: readonly PrintedColumn[] = [
  NAME,
  column('Ready', (s) => `${number('status', 'readyReplicas')(s)}/${number('spec', 'replicas')(s)}`),
  AGE,
  CONTAINERS,
  IMAGES,
];

export const DAEMON_SET_COLUMNS: readonly PrintedColumn[] = [
  NAME,
  count('Desired', 'status', 'desiredNumberScheduled'),
  count('Current', 'status', 'currentNumberScheduled'),
  count('Ready', 'status', 'numberReady'),
  count('Up-to-date', 'status', 'updatedNumberScheduled'),
  count('Available', 'status', 'numberAvailable'),
  column('Node Selector', (ds) =>
    orNone(selectorText({ matchLabels: at(ds, 'spec', 'template', 'spec', 'nodeSelector') })),
  ),
  ...PODS,
];

function jobStatus(job: ApiObject): string {
  const conditions = records(at(job, 'status', 'conditions')).filter(({ status }) => status === 'True');
  const has = (type: string): boolean => conditions.some((one) => one.type === type);
  if (has('Complete')) return 'Complete';
  if (has('Failed')) return 'Failed';
  if (job.metadata.deletionTimestamp !== undefined) return 'Terminating';
  return has('Suspended') ? 'Suspended' : 'Running';
}

function jobDuration(job: ApiObject, nowMs: number): string {
  const started = Date.parse(text(at(job, 'status', 'startTime')));
  if (Number.isNaN(started)) return '';
  const completed = Date.parse(text(at(job, 'status', 'completionTime')));
  return humanDuration((Number.isNaN(completed) ? nowMs : completed) - started);
}

export const JOB_COLUMNS: readonly PrintedColumn[] = [
  NAME,
  column('Status', jobStatus),
  column(
    'Completions',
    (job) => `${number('status', 'succeeded')(job)}/${String(at(job, 'spec', 'completions') ?? 1)}`,
  ),
  column('Duration', jobDuration),
  ...PODS,
];
