/** Classification of errors. */
export { CATEGORIES, isTransient } from './category.ts'
export type { Category, Classification, Classifier, ErrorContext, Evidence } from './category.ts'
export { classifyError } from './classify.ts'
