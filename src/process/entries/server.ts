export { type Foreign, foreignnessOf, refuseForeign } from '../foreign-pages.ts';
export { type Endpoints, type Look, serveEndpoints, Unavailable } from '../health.ts';
export { type HistoryView, type HourView, historySince, historyView, logView } from '../history-view.ts';
export { answer, BadQuery, boundedServer, listen, type RequestHandler, stop } from '../http-server.ts';
export { send } from '../long-answer.ts';
export { type Address, isLoopback } from '../loopback.ts';
export { metricPage } from '../metric-pages.ts';
export { jsonInSteps } from '../rendered-answer.ts';
