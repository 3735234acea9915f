/** Classification of errors. */
export { CATEGORIES, isCategory, isTransient } from './category.ts'
export type { Category, Classification, Classifier, ErrorContext, Evidence } from './category.ts'
export { classifyError, createClassifier } from './classify.ts'
export type { ClassificationRule, ClassifierOptions } from './classify.ts'
export { wrappedIn } from './layers.ts'
