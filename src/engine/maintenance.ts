/**
 * Maintenance of nodes: the lifecycle conditions of Kubernetes (KEP-5683), which administrators and controllers write, and
 * scheduled events of the provider, which are an annotation.
 */
import { isTrue, MAINTENANCE_NOT_BEFORE_ANNOTATION, type Node, type Taint } from '#api/objects';
import { own } from '#lib';

/** Conditions of a node whose pods should move before or during maintenance. */
const MAINTENANCE = ['MaintenancePlanned', 'MaintenanceInProgress'] as const;
/** Conditions of a node that other clients empty or shut down. */
const LEAVING = ['DrainInProgress', 'Drained', 'GracefulNodeShutdownInProgress'] as const;

/** Reason of drift. */
export const MAINTENANCE_PLANNED = 'MaintenancePlanned';

/** Returns true if the node should be replaced before its maintenance. */
export const awaitsMaintenance = (node: Node | undefined): boolean =>
  node !== undefined &&
  (MAINTENANCE.some((type) => isTrue(node, type)) ||
    own(node.metadata.annotations, MAINTENANCE_NOT_BEFORE_ANNOTATION) !== undefined);

/** Stands for the conditions in plans: no pod is planned on a node that is about to be emptied. */
export const MAINTENANCE_TAINT: Taint = { key: 'node.kubernetes.io/maintenance', effect: 'NoSchedule' };

/** Returns true if no further pods should be planned on the node. */
export const refusesPods = (node: Node): boolean =>
  awaitsMaintenance(node) || LEAVING.some((type) => isTrue(node, type));
