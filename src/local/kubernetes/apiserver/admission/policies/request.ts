/** A request as admission looks at it. */
import { celValue } from '../../../../../api/schema/cel.ts';
import type { Core } from '../../core.ts';
import type { ApiObject, Json } from '../../json.ts';
import type { Resource } from '../../resources/registry.ts';
import { USER } from '../../user.ts';

/** A write that policies may refuse. Objects are in the version of the resource. */
export interface AdmissionRequest {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE';
  readonly resource: Resource;
  readonly subresource?: string | undefined;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly object?: ApiObject;
  readonly oldObject?: ApiObject;
  /** Of the object, where it is not the resource's, as a Scale. */
  readonly kind?: { readonly group: string; readonly version: string; readonly kind: string };
  readonly dryRun?: boolean | undefined;
  /** Receives the texts of warnings. */
  readonly warnings?: string[] | undefined;
}

/** The namespace that the request is about: its own, or that of the objects in it. */
export function namespaceOf(
  core: Core,
  { resource, namespace, name, object }: AdmissionRequest,
): ApiObject | undefined {
  if (resource.storage === 'namespaces') return object ?? core.store.get('namespaces', undefined, name)?.object;
  return namespace === undefined ? undefined : core.store.get('namespaces', undefined, namespace)?.object;
}

/**
 * What expressions see of a request.
 *
 * @param as the version of the resource that the policy's rules named
 */
export function requestValues(core: Core, request: AdmissionRequest, as: Resource): Readonly<Record<string, unknown>> {
  const { resource, subresource = '', object, oldObject } = request;
  const convert = (one: ApiObject | undefined): unknown =>
    one === undefined ? null : celValue(undefined, request.kind ? one : converted(one, resource, as));
  const namespace = resource.storage === 'namespaces' ? undefined : namespaceOf(core, request);
  const kindOf = ({ group, version, kind }: Resource): Json => request.kind ?? { group, version, kind };
  const resourceOf = ({ group, version, plural }: Resource): Json => ({ group, version, resource: plural });
  return {
    object: convert(object),
    oldObject: convert(oldObject),
    namespaceObject: namespace ? celValue(undefined, namespace) : null,
    request: celValue(undefined, {
      uid: '',
      kind: kindOf(as),
      resource: resourceOf(as),
      requestKind: kindOf(resource),
      requestResource: resourceOf(resource),
      // What is empty is absent, as in Kubernetes' own JSON of a request.
      ...(subresource !== '' && { subResource: subresource, requestSubResource: subresource }),
      name: request.name,
      ...(request.namespace !== undefined && { namespace: request.namespace }),
      operation: request.operation,
      userInfo: { ...USER, extra: {} },
      dryRun: request.dryRun === true,
      options: {},
    }),
  };
}

function converted(object: ApiObject, from: Resource, to: Resource): ApiObject {
  if (from.version === to.version && from.group === to.group) return object;
  const stored = from.toStorage ? from.toStorage(object) : object;
  return to.fromStorage ? to.fromStorage(stored) : stored;
}
