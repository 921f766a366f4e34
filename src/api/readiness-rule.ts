/** NodeReadinessRule of the NodeReadinessController, with the fields that initialization reads. */
import type { KubeObject, LabelSelector } from './kubernetes.ts';

export interface NodeReadinessRule extends KubeObject {
  readonly spec: {
    readonly conditions: readonly {
      readonly type: string;
      readonly requiredStatus: string;
      /** Status of a condition that the Node does not have. Default: Unknown. */
      readonly defaultStatus?: string;
    }[];
    /** Default: allOf. */
    readonly conditionPolicy?: 'allOf' | 'anyOf';
    readonly enforcementMode: 'bootstrap-only' | 'continuous';
    readonly nodeSelector?: LabelSelector;
    readonly dryRun?: boolean;
  };
}
