/** What admission adds to new nodes. */
import { type ApiObject, record, records } from '../json.ts';

const NOT_READY = 'node.kubernetes.io/not-ready';

/** Nothing is scheduled to a node before the node controller has seen it Ready. */
export function admitNode(node: ApiObject): void {
  const spec = record(node.spec);
  const taints = records(spec.taints);
  if (taints.some(({ key, effect }) => key === NOT_READY && effect === 'NoSchedule')) return;
  node.spec = { ...spec, taints: [...taints, { key: NOT_READY, effect: 'NoSchedule' }] };
}
