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
  VIEWS_FORMAT,
  ViewsError,
  type ViewsStatus,
  type ViewWriter,
  type WriteAnswer,
} from './port.js';
export {
  type EvaluationRow,
  evaluationRowSchema,
  type LedgerRow,
  ledgerRowSchema,
  type LessonRow,
  lessonRowSchema,
  type ReportRow,
} from './rows.js';
