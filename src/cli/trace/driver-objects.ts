/** Objects of a trace that stand for DRA drivers, and for the classes and claim templates of their devices. */

import { NVIDIA_DRIVER } from '#api/devices';
import {
  apiVersionOf,
  DAEMON_SET,
  DEVICE_CLASS,
  type DeviceClass,
  type KubeObject,
  type NodeSelectorRequirement,
  RESOURCE_CLAIM_TEMPLATE,
  type ResourceClaimTemplate,
} from '#api/objects';
import { DRIVER_ANNOTATION, type DriverPool, POOLS_ANNOTATION } from '#local/machines';
import { OPERATOR_NAMESPACE } from '#replay/trace';

const APP = 'app';

interface DriverParts {
  readonly name: string;
  readonly driver: string;
  /** Nodes that run the driver. All nodes if undefined. */
  readonly nodes?: readonly NodeSelectorRequirement[];
  /** Devices that the driver publishes. The devices of the machine if undefined. */
  readonly pools?: readonly DriverPool[] | undefined;
}

/** Returns a DaemonSet whose pods publish the devices of their nodes in the local cluster and in a replay. */
export function driverDaemonSet({ name, driver, nodes, pools }: DriverParts): KubeObject {
  const annotations = {
    [DRIVER_ANNOTATION]: driver,
    ...(pools !== undefined && { [POOLS_ANNOTATION]: JSON.stringify(pools) }),
  };
  const required = { nodeSelectorTerms: [{ matchExpressions: nodes }] };
  return {
    apiVersion: apiVersionOf(DAEMON_SET),
    kind: DAEMON_SET.kind,
    metadata: { name, namespace: OPERATOR_NAMESPACE },
    spec: {
      selector: { matchLabels: { [APP]: name } },
      template: {
        metadata: { labels: { [APP]: name }, annotations },
        spec: {
          ...(nodes && {
            affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } },
          }),
          tolerations: [{ operator: 'Exists' }],
          containers: [{ name: 'driver', image: 'pause' }],
        },
      },
    },
  } as KubeObject;
}

/** Returns the name of the template of claims for some GPUs. */
export const gpuTemplateName = (count: number): string => `gpus-${count}`;

/** Returns the objects that claims for NVIDIA GPUs need. @param counts numbers of GPUs that pods claim */
export function gpuObjects(counts: readonly number[], namespace: string): readonly KubeObject[] {
  const deviceClass: DeviceClass = {
    apiVersion: apiVersionOf(DEVICE_CLASS),
    kind: DEVICE_CLASS.kind,
    metadata: { name: NVIDIA_DRIVER },
    spec: {
      selectors: [
        {
          cel: {
            expression: `device.driver == '${NVIDIA_DRIVER}' && device.attributes['${NVIDIA_DRIVER}'].type == 'gpu'`,
          },
        },
      ],
    },
  };
  const templates = counts.map(
    (count): ResourceClaimTemplate => ({
      apiVersion: apiVersionOf(RESOURCE_CLAIM_TEMPLATE),
      kind: RESOURCE_CLAIM_TEMPLATE.kind,
      metadata: { name: gpuTemplateName(count), namespace },
      spec: {
        spec: { devices: { requests: [{ name: 'gpu', exactly: { deviceClassName: NVIDIA_DRIVER, count } }] } },
      },
    }),
  );
  return [deviceClass, driverDaemonSet({ name: 'dra-driver-nvidia', driver: NVIDIA_DRIVER }), ...templates];
}
