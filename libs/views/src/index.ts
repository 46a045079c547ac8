export { EvaluationFold } from './fold.js';
export {
  type ListOptions,
  type NextViews,
  type ViewChange,
  type ViewDifference,
  type ViewName,
  type ViewReader,
  type ViewRow,
  type Views,
  ViewsError,
  type ViewsStatus,
  type ViewWriter,
  type WriteAnswer,
} from './port.js';
export {
  type EvaluationRow,
  type LedgerRow,
  type LessonRow,
  type ReportRow,
} from './rows.js';
