/** The parameters that a binding gives to its policy. */
import type { Core } from '../../core.ts';
import { type ApiObject, at, record, text } from '../../json.ts';
import { objectSelector } from '../../selectors.ts';

/** The binding, or its policy, names parameters that cannot be had. */
export class ParamsError extends Error {}

/**
 * The parameter objects to check a request with, one after another; `[undefined]` where there are none to be had.
 *
 * @param namespace of the request
 * @throws ParamsError
 */
export function paramsOf(
  core: Core,
  policy: ApiObject,
  binding: ApiObject,
  namespace: string | undefined,
): readonly (ApiObject | undefined)[] {
  const kind = record(at(policy, 'spec', 'paramKind'));
  const reference = record(at(binding, 'spec', 'paramRef'));
  const [apiVersion, name] = [text(kind.apiVersion), text(kind.kind)];
  if (name === '' || Object.keys(reference).length === 0) return [undefined];
  const resource = core.registry.byKind(apiVersion, name);
  if (!resource)
    throw new ParamsError(`failed to find resource referenced by paramKind: '${apiVersion}, Kind=${name}'`);
  const named = text(reference.namespace);
  if (!resource.namespaced && named !== '')
    throw new ParamsError('paramRef.namespace must not be provided for a cluster-scoped `paramKind`');
  const place = resource.namespaced ? named || namespace : undefined;
  if (resource.namespaced && place === undefined)
    throw new ParamsError('cannot use namespaced paramRef in policy binding that matches cluster-scoped resources');
  const wanted = text(reference.name);
  const found =
    wanted === ''
      ? core.store.list(resource.storage, place).filter(inSelector(reference.selector))
      : [core.store.get(resource.storage, place, wanted)].filter((entry) => entry !== undefined);
  if (found.length > 0) return found.map((entry) => entry.in(resource));
  if (reference.parameterNotFoundAction === 'Allow') return [];
  throw new ParamsError('no params found for policy binding with `Deny` parameterNotFoundAction');
}

const inSelector = (selector: unknown): ((entry: { readonly object: ApiObject }) => boolean) => {
  const matches = objectSelector(selector);
  return ({ object }) => matches(object.metadata.labels ?? {});
};
