/** Updates of the subresource `resize` of pods: only CPU and memory of containers, init containers and the pod may change. */
import { own } from '#lib';
import { type ApiObject, at, clone, equal, type Json, record, records, text } from '../json.ts';
import { duplicate, fieldForbidden, invalidValue, notSupported, type StatusCause } from '../status.ts';
import { qosClass } from './pod-defaults.ts';

const LISTS = ['containers', 'initContainers'] as const;
const RESIZABLE: ReadonlySet<string> = new Set(['cpu', 'memory']);
const ONLY_RESIZABLE = 'only cpu and memory resources are mutable';
/** Annotation of the pods that a kubelet mirrors from its files. */
const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';

const namesIn = (containers: unknown): string => JSON.stringify(records(containers).map(({ name }) => name));

/**
 * Returns the old pod with the sent resources and resize policies. Other changes are dropped, except changes of the list of
 * containers, which the validation refuses.
 */
export function podAfterResize(sent: ApiObject, old: ApiObject): ApiObject {
  const [next, before] = [record(sent.spec), record(old.spec)];
  if (LISTS.some((list) => namesIn(next[list]) !== namesIn(before[list]))) return { ...old, spec: next };
  const spec: Json = { ...clone(before) };
  for (const list of LISTS) {
    if (before[list] === undefined) continue;
    spec[list] = records(before[list]).map((container, index) => {
      const { resources, resizePolicy } = records(next[list])[index] ?? {};
      const { resizePolicy: _, ...rest } = clone(container);
      return { ...rest, resources: resources ?? {}, ...(resizePolicy === undefined ? {} : { resizePolicy }) };
    });
  }
  if (next.resources === undefined) delete spec.resources;
  else spec.resources = next.resources;
  return { ...old, spec };
}

/** Returns the causes why a resize is not valid. */
export function resizeCauses(pod: ApiObject, old: ApiObject): StatusCause[] {
  const [spec, before] = [record(pod.spec), record(old.spec)];
  if (own(old.metadata.annotations, MIRROR_ANNOTATION) !== undefined)
    return [fieldForbidden('', 'static pods cannot be resized')];
  const lists = LISTS.flatMap((list) => listCauses(spec[list], before[list], list));
  if (lists.length > 0) return lists;
  const causes: StatusCause[] = [];
  if (qosClass(spec) !== qosClass(before))
    causes.push(
      invalidValue('spec', at(old, 'status', 'qosClass'), 'Pod QOS Class may not change as a result of resizing'),
    );
  if (!runsWithResize(old)) causes.push(fieldForbidden('spec', 'Pod running on node without support for resize'));
  causes.push(...wholeCauses(spec, before));
  for (const list of LISTS)
    for (const [index, container] of records(spec[list]).entries())
      causes.push(...containerCauses(container, records(before[list])[index] ?? {}, `spec.${list}[${index}]`));
  return causes;
}

function listCauses(containers: unknown, before: unknown, list: string): StatusCause[] {
  const [now, then] = [records(containers), records(before)];
  if (now.length !== then.length)
    return [fieldForbidden(`spec.${list}`, `${list} may not be added or removed on resize`)];
  return then.flatMap(({ name }, index) =>
    now[index]?.name === name
      ? []
      : [fieldForbidden(`spec.${list}[${index}].name`, 'containers may not be renamed or reordered on resize')],
  );
}

/** Returns false if a running container of the pod has no resources in its status, as of kubelets before resizes. */
function runsWithResize(pod: ApiObject): boolean {
  const running = records(at(pod, 'status', 'containerStatuses')).find((status) => at(status, 'state', 'running'));
  return running === undefined || running.resources !== undefined;
}

function wholeCauses(spec: Json, before: Json): StatusCause[] {
  if (before.resources !== undefined && spec.resources === undefined)
    return [fieldForbidden('spec.resources', 'pod-level resources cannot be removed')];
  const [now, then] = [record(spec.resources), record(before.resources)];
  const causes = removalCauses(now, then, 'spec.resources', 'pod-level resource');
  const isSame = equal(withoutResizable(now), withoutResizable(then));
  return isSame ? causes : [...causes, fieldForbidden('spec', `${ONLY_RESIZABLE} at pod-level`)];
}

function containerCauses(container: Json, before: Json, path: string): StatusCause[] {
  const [now, then] = [record(container.resources), record(before.resources)];
  const causes = removalCauses(now, then, `${path}.resources`, 'resource');
  const isSame =
    equal(withoutResizable(now), withoutResizable(then)) &&
    equal({ ...container, resources: {} }, { ...before, resources: {} });
  if (!isSame) causes.push(fieldForbidden('spec', ONLY_RESIZABLE));
  const isOrdinaryInit = path.startsWith('spec.initContainers') && container.restartPolicy !== 'Always';
  const restarts = records(container.resizePolicy).some(({ restartPolicy }) => restartPolicy === 'RestartContainer');
  if (isOrdinaryInit && restarts && !equal(now, then))
    causes.push(
      fieldForbidden(path, 'non-sidecar init containers with a resize policy of RestartContainer cannot be resized'),
    );
  return causes;
}

function removalCauses(now: Json, then: Json, path: string, what: string): StatusCause[] {
  return ['requests', 'limits'].flatMap((list) => {
    const isRemoved = Object.keys(record(then[list])).some((name) => own(record(now[list]), name) === undefined);
    return isRemoved ? [fieldForbidden(`${path}.${list}`, `${what} ${list} cannot be removed`)] : [];
  });
}

function withoutResizable({ requests, limits, ...rest }: Json): Json {
  const kept = (list: unknown): Json =>
    Object.fromEntries(Object.entries(record(list)).filter(([name]) => !RESIZABLE.has(name)));
  return { ...rest, requests: kept(requests), limits: kept(limits) };
}

const POLICIES = ['NotRequired', 'RestartContainer'];

/** Returns the invalid values of the resize policies of a container. */
export function resizePolicyCauses(container: Json, path: string): StatusCause[] {
  const seen = new Set<string>();
  return records(container.resizePolicy).flatMap((policy, index) => {
    const [name, restart] = [text(policy.resourceName), text(policy.restartPolicy)];
    const causes: StatusCause[] = [];
    if (seen.has(name)) causes.push(duplicate(`${path}.resizePolicy[${index}]`, name));
    seen.add(name);
    if (!RESIZABLE.has(name)) causes.push(notSupported(`${path}.resizePolicy`, name, [...RESIZABLE]));
    if (!POLICIES.includes(restart)) causes.push(notSupported(`${path}.resizePolicy`, restart, POLICIES));
    return causes;
  });
}
