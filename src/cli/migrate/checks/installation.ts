/** Checks the installed controllers and their next version. */
import { type Node, ZONE_LABEL } from '#api/objects';
import type { FoundController } from '#aws/leftovers';
import { own } from '#lib';
import { inShort } from '../../render/table.ts';
import type { Facts } from '../facts.ts';
import { type Item, itemsIn } from '../items.ts';
import { originOf } from '../origins.ts';
import { type ApiStage, parseVersion, pathFrom, stageOf } from '../versions.ts';

const { blocked, itemsOf, ok, todo, unknown } = itemsIn('installation');
const CONTROLLERS = { subject: 'Karpenter', kinds: ['Deployment'] } as const;

const controllerName = ({ deployment: { metadata } }: FoundController): string =>
  `${metadata.namespace ?? 'default'}/${metadata.name}`;

const isRunning = ({ deployment }: Pick<FoundController, 'deployment'>): boolean => (deployment.spec.replicas ?? 1) > 0;

/**
 * Returns the API stage of the installed version. This operator has the stage of current Karpenter. Undefined if no
 * controller runs or its version is unknown.
 */
export function stageIn({ controllers }: Facts): ApiStage | undefined {
  const karpenter = controllers.find(({ isKarpenter }) => isKarpenter);
  if (karpenter === undefined) return controllers.length > 0 ? 'v1' : undefined;
  const version = parseVersion(karpenter.version);
  return version && stageOf(version);
}

export function installationItems(facts: Facts): readonly Item[] {
  return [
    ...itemsOf(facts, CONTROLLERS, () => [
      ...controllersItem(facts),
      ...facts.controllers.flatMap((controller) => [...versionItem(controller), ...chartItem(controller)]),
      ...both(facts),
    ]),
    ...autoscalerItems(facts),
    ...zoneItems(facts),
    ...settingsItems(facts),
  ];
}

function controllersItem({ controllers, autoscalers }: Facts): readonly Item[] {
  if (controllers.length > 0) return [];
  const next = autoscalers.length > 0 ? 'karpenter migrate plan --from cluster-autoscaler' : 'karpenter migrate plan';
  return [todo('Karpenter', 'no Deployment has the label app.kubernetes.io/name=karpenter', next)];
}

function versionItem(controller: FoundController): readonly Item[] {
  const { isKarpenter, version: text } = controller;
  const subject = `${isKarpenter ? 'Karpenter' : 'operator'} ${controllerName(controller)}`;
  if (!isRunning(controller))
    return [
      todo(
        subject,
        `has version ${text || 'unknown'} and is scaled to 0, so nodes are not managed`,
        `kubectl scale deployment ${controller.deployment.metadata.name} -n ${controller.deployment.metadata.namespace} --replicas 2`,
      ),
    ];
  if (!isKarpenter) return [ok(subject, `has version ${text || 'unknown'} of this product`)];
  const version = parseVersion(text);
  if (version === undefined)
    return [
      unknown(
        subject,
        `the image "${text}" does not contain a version`,
        'look up the version in the log, and use an image tag with this version',
      ),
    ];
  const [first, ...rest] = pathFrom(version);
  if (first === undefined) return [ok(subject, `has version ${text}; this operator can take over directly`)];
  const way = [first, ...rest].map((hop) => hop.version).join(' → ');
  return [
    todo(subject, `has version ${text}; required upgrades: ${way}, without omitting a step`, 'karpenter migrate plan'),
  ];
}

/**
 * Reports an image that does not match the chart's version, because settings, permissions and webhooks belong to the
 * chart's version.
 */
function chartItem(controller: FoundController): readonly Item[] {
  const chart = own(controller.deployment.metadata.labels, 'helm.sh/chart')?.replace(/^karpenter-/, '');
  const [ofChart, ofImage] = [parseVersion(chart ?? ''), parseVersion(controller.version)];
  if (!controller.isKarpenter || ofChart === undefined || ofImage === undefined) return [];
  if (ofChart.major === ofImage.major && ofChart.minor === ofImage.minor) return [];
  return [
    todo(
      `chart of ${controllerName(controller)}`,
      `has version ${chart}, but the image has version ${controller.version}`,
      'use the same version for both: remove controller.image from the values, and upgrade the chart',
    ),
  ];
}

function both({ controllers, autoscalers }: Facts): readonly Item[] {
  const running = controllers.filter(isRunning);
  const items: Item[] = [];
  if (running.length > 1)
    items.push(
      todo(
        'controllers',
        `${running.length} are running: ${running.map(controllerName).join(', ')}; each acts on every NodePool`,
        `kubectl scale deployment NAME -n NAMESPACE --replicas 0, for all except one`,
      ),
    );
  const named = autoscalers.filter(isRunning).length;
  if (running.length > 0 && named > 0)
    items.push(
      todo(
        'autoscalers',
        'cluster-autoscaler and Karpenter are both running, so both may launch nodes for the same pods',
        'karpenter migrate plan --from cluster-autoscaler',
      ),
    );
  return items;
}

const autoscalerItems = ({ autoscalers, controllers }: Facts): readonly Item[] =>
  autoscalers.map(({ deployment }) => {
    const subject = `cluster-autoscaler ${deployment.metadata.namespace}/${deployment.metadata.name}`;
    if (!isRunning({ deployment }))
      return todo(
        subject,
        'is scaled to 0, but still installed',
        `kubectl delete deployment ${deployment.metadata.name} -n ${deployment.metadata.namespace}, or delete its Helm release, once you do not need a rollback`,
      );
    return controllers.length === 0
      ? todo(subject, 'runs', 'karpenter migrate plan --from cluster-autoscaler')
      : todo(
          subject,
          'is running together with Karpenter',
          `kubectl scale deployment ${deployment.metadata.name} -n ${deployment.metadata.namespace} --replicas 0`,
        );
  });

/**
 * Checks zones for the controller's replicas. Since 1.0, replicas must run in different zones, and not on nodes that
 * Karpenter launched.
 */
function zoneItems(facts: Facts): readonly Item[] {
  const [controller] = facts.controllers.filter(isRunning);
  const replicas = controller?.deployment.spec.replicas ?? 1;
  if (controller === undefined || replicas < 2) return [];
  const subject = `replicas of ${controllerName(controller)}`;
  return itemsOf(facts, { subject, kinds: ['Node'] }, () => {
    const hosts = facts.of<Node>('Node').filter((node) => !['nodepool', 'provisioner'].includes(originOf(node).kind));
    const zones = [...new Set(hosts.flatMap(({ metadata }) => own(metadata.labels, ZONE_LABEL) ?? []))].sort();
    return zones.length >= 2
      ? [ok(subject, `can be scheduled in ${inShort(zones)}`)]
      : [
          todo(
            subject,
            `${replicas} replicas need nodes in two zones, but nodes outside of Karpenter are in zone ${zones.join('') || 'none'}; since 1.0 one replica stays pending`,
            'add nodes in a second zone to a node group, or set replicas: 1 in the chart values',
          ),
        ];
  });
}

/** Checks the settings ConfigMap of versions before 0.33. */
const settingsItems = (facts: Facts): readonly Item[] =>
  itemsOf(facts, { subject: 'karpenter-global-settings', kinds: ['ConfigMap'] }, () => {
    const found = facts.of('ConfigMap').filter(({ metadata }) => metadata.name === 'karpenter-global-settings');
    const stage = stageIn(facts);
    return found.map(({ metadata: { name, namespace } }) => {
      const subject = `ConfigMap ${namespace}/${name}`;
      if (stage === 'alpha' || stage === 'both' || stage === undefined)
        return blocked(
          subject,
          'configures Karpenter up to 0.32 and is not used by 0.33 and later, where its settings are chart values',
          'karpenter convert values -f values.yaml, before the upgrade to 0.33 or later',
        );
      return todo(subject, 'is not used by any version since 0.33', `kubectl delete configmap ${name} -n ${namespace}`);
    });
  });
