import { after, type Singleton } from '../../kube/reconciler.ts';
import type { Parameters } from '../ssm.ts';
import type { Amis } from './amis.ts';

const PERIOD_MS = 30 * 60_000;

/** Forgets `latest` parameters that point to images which have been deprecated since. */
export const ssmInvalidation = (parameters: Parameters, amis: Amis): Singleton => ({
  name: 'providers.ssm.invalidation',
  singleton: true,
  async reconcile() {
    const cached = parameters.mutable();
    const deprecated = new Map<string, boolean>();
    for (const id of new Set(cached.values())) deprecated.set(id, await amis.isDeprecated(id));
    for (const [name, id] of cached) if (deprecated.get(id) === true) parameters.forget(name);
    return after(PERIOD_MS);
  },
});
