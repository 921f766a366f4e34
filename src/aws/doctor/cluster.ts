/** Checks of the cluster: its CRDs and the controllers that run in it. */

import { CONFIG_MAP, DEPLOYMENT, PAUSE_NAME, pauseText, readPause, type Workload } from '#api/objects';
import { customResourceDefinitions } from '#api/schema';
import type { Finding } from '#cloud';
import { isNotFound } from '#kube/client';
import type { HttpKubeReader } from '#kube/connection';
import { isObject } from '#lib';
import { type StoredDefinition, storage } from './beta.ts';
import { fine, problem, unknownFinding, warning } from './finding.ts';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const INSTALL = 'helm upgrade --install karpenter-crd charts/karpenter-crd';
/** CRDs that the operator does not require. */
const OPTIONAL = new Set([
  'nodeoverlays.karpenter.sh',
  'nodepolicies.karpenter-ts.sh',
  'capacitybuffers.autoscaling.x-k8s.io',
  'capacityquotas.autoscaling.x-k8s.io',
  'provisioningrequests.autoscaling.x-k8s.io',
]);

/** Lists the paths of the fields that `wanted` has and `found` lacks. */
export function missingFields(wanted: unknown, found: unknown, path = ''): readonly string[] {
  if (!isObject(wanted)) return [];
  const inner = isObject(found) ? found : {};
  const own = isObject(wanted.properties) ? wanted.properties : {};
  const theirs = isObject(inner.properties) ? inner.properties : {};
  return [
    ...Object.entries(own).flatMap(([name, schema]) =>
      Object.hasOwn(theirs, name) ? missingFields(schema, theirs[name], `${path}.${name}`) : [`${path}.${name}`],
    ),
    ...(wanted.items === undefined ? [] : missingFields(wanted.items, inner.items, `${path}[]`)),
  ];
}

export async function definitions(client: HttpKubeReader): Promise<readonly Finding[]> {
  return Promise.all(
    customResourceDefinitions().map(async ({ metadata: { name }, spec }): Promise<Finding> => {
      const subject = `CRD ${name}`;
      let stored: StoredDefinition & { readonly spec: typeof spec };
      try {
        stored = (await client.raw(`${CRDS}/${name}`)) as typeof stored;
      } catch (error) {
        if (!isNotFound(error))
          return unknownFinding(subject, `cannot be read: ${(error as Error).message}`, 'see the error');
        return OPTIONAL.has(name)
          ? warning(subject, 'is not installed, so its feature is disabled', INSTALL)
          : problem(subject, 'is not installed', INSTALL);
      }
      const [version] = spec.versions;
      const served = stored.spec.versions.find((each) => each.name === version?.name);
      if (served === undefined) return problem(subject, `does not serve ${version?.name}`, INSTALL);
      const [unreadable] = storage(subject, stored, served.name);
      if (unreadable !== undefined) return unreadable;
      const missing = missingFields(version?.schema.openAPIV3Schema, served.schema.openAPIV3Schema);
      return missing.length === 0
        ? fine(subject, `serves ${served.name} with every field`)
        : warning(
            subject,
            `is older than this version and does not contain ${missing.slice(0, 3).join(', ')}`,
            INSTALL,
          );
    }),
  );
}

/** Reports a pause of the operator, because its effects resemble those of a defect. */
export async function pauseOf(client: HttpKubeReader, own: FoundController | undefined): Promise<readonly Finding[]> {
  const { namespace } = own?.deployment.metadata ?? {};
  const found = namespace && (await client.find(CONFIG_MAP, { name: PAUSE_NAME, namespace }));
  if (!found) return [];
  const pause = readPause(found);
  return Date.now() < pause.untilMs ? [warning('pause', pauseText(pause), 'karpenter resume')] : [];
}

/** A controller in the cluster, with the settings that its Deployment shows. */
export interface FoundController {
  readonly deployment: Workload;
  readonly version: string;
  /** True for Karpenter, false for this product. */
  readonly isKarpenter: boolean;
  readonly setting: (name: string) => string | undefined;
}

/** Repository of Karpenter's image. Mirrors keep the end of the path. */
const KARPENTER_IMAGE = /(?:^|\/)karpenter\/controller(?::(?<tag>[^@]+))?(?:@|$)/;

/** Lists all installed controllers, including Karpenter. */
export async function findControllers(client: HttpKubeReader): Promise<readonly FoundController[]> {
  const labelSelector = 'app.kubernetes.io/name=karpenter';
  return (await client.listAll(DEPLOYMENT, { labelSelector })).map(foundController);
}

/** Reads the controller's settings from its Deployment. */
export function foundController(deployment: Workload): FoundController {
  const containers = (deployment.spec.template.spec?.containers ?? []) as readonly {
    readonly image?: string;
    readonly env?: readonly { readonly name: string; readonly value?: string }[];
  }[];
  const env = containers.flatMap(({ env: entries = [] }) => entries);
  const image = containers
    .map((container) => KARPENTER_IMAGE.exec(container.image ?? ''))
    .find((match) => match !== null);
  return {
    deployment,
    version: image?.groups?.tag ?? deployment.metadata.labels?.['app.kubernetes.io/version'] ?? '',
    isKarpenter: image !== undefined,
    setting: (name) => env.find((entry) => entry.name === name)?.value,
  };
}

export function installation(controller: FoundController | undefined, version: string): Finding {
  if (controller === undefined)
    return warning(
      'installation',
      'no Deployment has the label app.kubernetes.io/name=karpenter',
      'helm upgrade --install karpenter charts/karpenter, or run the operator outside the cluster',
    );
  const { namespace, name } = controller.deployment.metadata;
  const subject = `Deployment ${namespace}/${name}`;
  return controller.version === version
    ? fine(subject, `has version ${version}`)
    : warning(
        subject,
        `has version ${controller.version || 'unknown'}, but this doctor has version ${version}`,
        'upgrade the chart, or run the doctor of the installed version',
      );
}
