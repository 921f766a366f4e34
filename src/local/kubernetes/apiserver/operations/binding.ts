/** The binding subresource, with which a scheduler assigns a pod to a node. */
import { timestamp } from '#lib';
import { topologyLabels } from '../admission/pods.ts';
import type { Core } from '../core.ts';
import { type ApiObject, at, record, records, text } from '../json.ts';
import { badRequest, conflict } from '../status.ts';
import { commit, read, type Target } from './update.ts';

/** @throws StatusError 400 without a node, 409 if the pod is bound or is being deleted */
export function bind(core: Core, target: Target, body: unknown, dryRun = false): void {
  const entry = read(core, target);
  const node = text(at(body, 'target', 'name'));
  if (node === '') throw badRequest('Binding is invalid: target.name: Required value');
  const uid = text(at(body, 'metadata', 'uid'));
  const pod = entry.object;
  if (uid !== '' && uid !== pod.metadata.uid) {
    throw conflict(
      target.resource,
      target.name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${pod.metadata.uid ?? ''}`,
    );
  }
  const bound = text(at(pod, 'spec', 'nodeName'));
  if (bound !== '') {
    throw conflict(
      { ...target.resource, plural: 'pods/binding' },
      target.name,
      `pod ${target.name} is already assigned to node ${JSON.stringify(bound)}`,
    );
  }
  if (pod.metadata.deletionTimestamp !== undefined) {
    throw conflict(target.resource, target.name, `pod ${target.name} is being deleted, cannot be assigned to a host`);
  }
  const next: ApiObject = { ...pod, metadata: { ...pod.metadata } };
  next.spec = { ...record(next.spec), nodeName: node };
  const labels = topologyLabels(pod, node, core.store);
  if (labels) next.metadata.labels = labels;
  const { nominatedNodeName: _, ...status } = record(next.status);
  const others = records(status.conditions).filter(({ type }) => type !== 'PodScheduled');
  const condition = {
    type: 'PodScheduled',
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: timestamp(core.clock.now()),
  };
  next.status = { ...status, conditions: [...others, condition] };
  commit(core, target.resource, entry, next, dryRun);
}
