/** Controllers of the log of decisions. */
import type { Controller } from '#kube/reconcilers';
import type { Deps } from '../deps.ts';
import { Observed } from './observed.ts';
import { Webhook } from './webhook.ts';

export function logControllers(deps: Deps): readonly Controller[] {
  const { decisions, settings } = deps;
  if (decisions === undefined) return [];
  const { decisionWebhook } = settings;
  return [
    new Observed(deps),
    ...(decisionWebhook === undefined ? [] : [new Webhook(deps, { decisions, settings: decisionWebhook })]),
  ];
}
