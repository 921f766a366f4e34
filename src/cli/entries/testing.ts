/** Names that only tests and scripts of other areas import. */
export { blockersCommand } from '../blockers.ts';
export { type BudgetCalendar, budgetsCommand } from '../budgets.ts';
export { reading } from '../cluster.ts';
export { QUESTIONS, runCommandLine, VERBS, wholeProgram } from '../command-line.ts';
export { parseFile, renderFile } from '../convert/documents.ts';
export { KARPENTER_IMAGE } from '../convert/helm-value-rules.ts';
export { convertFiles } from '../convert/manifests.ts';
export type { CostHistory } from '../cost/history.ts';
export type { CostNow } from '../cost/now.ts';
export { costCommand } from '../cost.ts';
export { Bills } from '../demo/bills.ts';
export { superviseOperator } from '../demo/operator-supervisor.ts';
export {
  type CommandDescription,
  describeCommand,
  everyCommand,
  type OptionDescription,
  showExamples,
  withExamples,
} from '../describe.ts';
export { reviewsOf, type SceneOptions, sceneOf, sceneOptions, simulateDisruption } from '../disruption.ts';
export type { Efficiency } from '../efficiency/report.ts';
export { efficiencyCommand } from '../efficiency.ts';
export { type ExplainedVerdict, explainCommand, explainNodes } from '../explain.ts';
export { explainNodeClaimCommand } from '../explain-nodeclaim.ts';
export { freePort } from '../free-port.ts';
export { exportLines } from '../local.ts';
export { logCommand } from '../log.ts';
export { machinesAt } from '../machines.ts';
export type { Item } from '../migrate/items.ts';
export type { MigrationPlan } from '../migrate/plan/step.ts';
export type { Status } from '../migrate/status.ts';
export { builtInTerms, builtInTypes } from '../objects/builtin.ts';
export { catalogueIn, readCatalogue } from '../objects/catalogue.ts';
export { InputError } from '../objects/errors.ts';
export { type Manifest, parseManifests, readManifests } from '../objects/read.ts';
export { worldOf } from '../objects/snapshot.ts';
export type { SnapshotInfo } from '../objects/snapshot-info.ts';
export { validateStored } from '../objects/stored.ts';
export { offeringsCommand } from '../offerings.ts';
export { pauseCommand, resumeCommand } from '../pause.ts';
export type { ShownVerdict } from '../pod-verdict.ts';
export {
  type DisruptionAnswer,
  disruptionOf,
  type SimulatedCommand,
  type SimulatedReplacement,
} from '../render/commands.ts';
export { showLine } from '../render/live-line.ts';
export { formatted } from '../render/output.ts';
export { type SimulatedClaim, type SimulationAnswer, simulationOf } from '../render/plan.ts';
export type { SupportReport } from '../render/support-report.ts';
export { pageOf } from '../replay/page/page.ts';
export { PARTS } from '../replay/play.ts';
export { KARPENTERS_WAY } from '../replay/savings.ts';
export { amount, dollars, percent, signedPercent, spanText } from '../replay/units.ts';
export { reportCommand } from '../report.ts';
export { typesFor, typesNoting } from '../scenario.ts';
export { simulate, simulateCommand } from '../simulate.ts';
export { READ_KINDS } from '../snapshot/kinds.ts';
export { snapshotCommand, writeSnapshot } from '../snapshot.ts';
export { INITIAL } from '../top/choices.ts';
export { frame } from '../top/frame.ts';
export type { StyledLine, StyledText } from '../top/spans.ts';
export { watchCluster } from '../top/watch.ts';
export { topCommand } from '../top.ts';
export { recordTrace } from '../trace/record.ts';
