mod learning;
mod plans;
mod promised;
