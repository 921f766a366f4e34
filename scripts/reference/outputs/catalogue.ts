/** JSON Schemas of the JSON and YAML output of verbs. The output formats are public. */
import type { TSchema } from 'typebox';
import type { Declared } from '#api/schema';
import type { PoolOfferings } from '#aws/instance-types';
import type {
  BudgetCalendar,
  CostHistory,
  CostNow,
  DisruptionAnswer,
  Efficiency,
  ExplainedVerdict,
  MigrationPlan,
  ShownVerdict,
  SimulationAnswer,
  Status,
  SupportReport,
} from '#cli/testing';
import type { Finding } from '#cloud';
import type { NodeBlockers } from '#engine/drain';
import type { InstanceTypeExplanation, NodeClaimExplanation, RequestExplanation } from '#engine/explanations';
import type { DrainPlan } from '#engine/what-if';
import type { LogLine } from '#observe/history';
import type { ReplayResult } from '#replay/run';
import type { TraceSummary } from '#replay/trace';
import type { DescribedOutput } from '../verbs.ts';
import { COST, COST_HISTORY, EFFICIENCY, LOG, REPORT } from './cost.ts';
import { INSTANCE_TYPE } from './instance-types.ts';
import { MIGRATE_PLAN, MIGRATE_STATUS, SNAPSHOT } from './migrate.ts';
import { BLOCKERS, BUDGET_CALENDAR, DRAIN, MOVES, VERDICTS } from './nodes.ts';
import {
  DISRUPTION,
  FINDINGS,
  NODECLAIM,
  OFFERINGS,
  POD_VERDICT,
  PROVISIONING_REQUEST,
  SIMULATION,
} from './purchases.ts';
import { REPLAY } from './replay.ts';
import { TRACE_SUMMARY } from './trace.ts';

interface Output extends DescribedOutput {
  readonly schema: TSchema;
}

export const OUTPUTS: readonly Output[] = [
  { name: 'explain-node', verb: 'explain node', schema: VERDICTS },
  { name: 'explain-pod', verb: 'explain pod', schema: POD_VERDICT },
  { name: 'explain-nodeclaim', verb: 'explain nodeclaim', schema: NODECLAIM },
  { name: 'explain-provisioningrequest', verb: 'explain provisioningrequest', schema: PROVISIONING_REQUEST },
  { name: 'explain-instance-type', verb: 'explain instance-type', schema: INSTANCE_TYPE },
  { name: 'blockers', verb: 'explain blockers', schema: BLOCKERS },
  { name: 'explain-drain', verb: 'explain drain', schema: DRAIN },
  { name: 'budgets', verb: 'explain budgets', schema: BUDGET_CALENDAR },
  { name: 'moves', verb: 'report moves', schema: MOVES },
  { name: 'cost', verb: 'cost', schema: COST },
  { name: 'cost-history', verb: 'cost', when: 'with `--history`', schema: COST_HISTORY },
  { name: 'efficiency', verb: 'efficiency', schema: EFFICIENCY },
  { name: 'log', verb: 'log', schema: LOG },
  { name: 'report', verb: 'report', schema: REPORT },
  { name: 'offerings', verb: 'offerings', schema: OFFERINGS },
  { name: 'doctor', verb: 'doctor', schema: FINDINGS },
  { name: 'migrate-status', verb: 'migrate status', schema: MIGRATE_STATUS },
  { name: 'migrate-plan', verb: 'migrate plan', schema: MIGRATE_PLAN },
  { name: 'snapshot', verb: 'snapshot', schema: SNAPSHOT },
  { name: 'trace-check', verb: 'trace check', schema: TRACE_SUMMARY },
  { name: 'simulate', verb: 'simulate', schema: SIMULATION },
  { name: 'simulate-disruption', verb: 'simulate', when: 'with `--disruption`', schema: DISRUPTION },
  { name: 'replay', verb: 'replay', schema: REPLAY },
];

/** Type that does not compile if values can differ from the schema. */
type Fitting<Schema extends TSchema, Value extends Declared<Schema>> = Value;

/** Types of the output, checked against their schemas. */
export type Printed =
  | Fitting<typeof VERDICTS, ExplainedVerdict | readonly ExplainedVerdict[]>
  | Fitting<typeof POD_VERDICT, ShownVerdict | readonly ShownVerdict[]>
  | Fitting<typeof NODECLAIM, NodeClaimExplanation>
  | Fitting<typeof PROVISIONING_REQUEST, RequestExplanation>
  | Fitting<typeof INSTANCE_TYPE, readonly InstanceTypeExplanation[]>
  | Fitting<typeof BLOCKERS, readonly NodeBlockers[]>
  | Fitting<typeof DRAIN, DrainPlan>
  | Fitting<typeof BUDGET_CALENDAR, BudgetCalendar>
  | Fitting<typeof COST, CostNow>
  | Fitting<typeof COST_HISTORY, CostHistory>
  | Fitting<typeof EFFICIENCY, Efficiency>
  | Fitting<typeof LOG, readonly LogLine[]>
  | Fitting<typeof REPORT, SupportReport>
  | Fitting<typeof OFFERINGS, readonly PoolOfferings[]>
  | Fitting<typeof MIGRATE_STATUS, Status>
  | Fitting<typeof MIGRATE_PLAN, MigrationPlan>
  | Fitting<typeof FINDINGS, readonly Finding[]>
  | Fitting<typeof TRACE_SUMMARY, TraceSummary>
  | Fitting<typeof SIMULATION, SimulationAnswer>
  | Fitting<typeof DISRUPTION, DisruptionAnswer>
  | Fitting<typeof REPLAY, ReplayResult>;

/** Returns the text of a schema's file. */
export const schemaText = ({ name, verb, schema }: Output): string =>
  `${JSON.stringify({ $schema: 'https://json-schema.org/draft/2020-12/schema', title: `karpenter ${verb} -o json`, $comment: `Written by npm run generate; change scripts/reference/outputs instead. File ${name}.json`, ...schema }, null, 2)}\n`;
