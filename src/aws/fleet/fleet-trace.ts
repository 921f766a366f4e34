/** A CreateFleet request in the traces of the NodeClaims that it buys for. */
import type { FinishedSpan, StepTraces } from '../../observe/traces/tracer.ts';
import type { FleetRequest } from './request.ts';

interface TracedAnswer {
  readonly bought?: { readonly fleetId: string };
  readonly errors: readonly { readonly ErrorCode?: string | undefined }[];
}

/** A request that was answered, or failed. */
interface TracedCall {
  readonly orders: readonly { readonly claimUid: string; readonly request: FleetRequest }[];
  readonly fromMs: number;
  readonly toMs: number;
  readonly requestId?: string | undefined;
  /** In the order of the orders; empty when the request failed. */
  readonly answers: readonly TracedAnswer[];
  readonly failure?: string | undefined;
}

export function traceCall(traces: StepTraces, call: TracedCall): void {
  const { orders, fromMs, toMs, requestId, answers, failure } = call;
  orders.forEach((order, at) => {
    const { bought, errors = [] } = answers[at] ?? {};
    const overrides = (order.request.LaunchTemplateConfigs ?? []).flatMap(({ Overrides = [] }) => Overrides);
    const refused = [...new Set(errors.map(({ ErrorCode }) => ErrorCode))].join(', ');
    const step: FinishedSpan = {
      name: 'EC2.CreateFleet',
      fromMs,
      toMs,
      isRequest: true,
      attributes: {
        'rpc.system': 'aws-api',
        'rpc.service': 'EC2',
        'rpc.method': 'CreateFleet',
        'aws.request_id': requestId,
        'karpenter.fleet.id': bought?.fleetId,
        'karpenter.fleet.target_capacity': orders.length,
        'karpenter.fleet.overrides': overrides.length,
        'karpenter.fleet.errors': refused || undefined,
      },
      failure: failure ?? (bought === undefined ? refused || 'no instance' : undefined),
    };
    traces.step(order.claimUid, step);
  });
}
