/** Reads the templates of the controllers of resized pods, for the requests of the pods that replace them. */
import { type KubeObject, type PodTemplateSpec, uidOf } from '#api/objects';
import { resourceTemplateOf } from '#engine/model';
import { ApiError } from '#kube/client';
import { after, type KeyedWorker, settled } from '#kube/reconcilers';
import type { Deps } from './deps.ts';

/** Time after which a template is read again, because its controller can be edited. */
const FRESH_MS = 5 * 60_000;
const BACK_OFF = { baseMs: 1000, maxMs: 60_000 };
const AT_ONCE = 4;

type WithTemplate = KubeObject & { readonly spec?: { readonly template?: PodTemplateSpec } };

export const podTemplates = ({ client, cluster: { templates } }: Pick<Deps, 'client' | 'cluster'>): KeyedWorker => ({
  name: 'state.podtemplates',
  keyed: true,
  concurrency: AT_ONCE,
  backOff: BACK_OFF,
  bind: (add) => templates.bind(add),
  describe: (uid) => {
    const { kind, namespace = '', name = '' } = templates.owner(uid) ?? {};
    return kind === undefined ? {} : { [kind.kind]: { namespace, name } };
  },

  async reconcile(uid, { log }) {
    const owner = templates.owner(uid);
    if (owner === undefined) return settled;
    try {
      const found: WithTemplate | undefined = await client.find(owner.kind, owner);
      const template = found !== undefined && uidOf(found) === uid ? found.spec?.template : undefined;
      templates.put(uid, template?.spec === undefined ? undefined : resourceTemplateOf(template));
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 403)) throw error;
      log.debug('must not read the template of resized pods, their own requests count', { error });
    }
    return after(FRESH_MS);
  },
});
