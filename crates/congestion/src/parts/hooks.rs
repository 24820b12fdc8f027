//! One list of hooks for each contract, from which the trait and all forwarding are made.
//!
//! [`hooks!`] declares a trait and, beside it, a macro that passes the signatures of its hooks to
//! another macro. An enum of parts forwards with `startup_hooks!(forward!(Abc Best Fbe));`, a
//! wrapper with [`own_hooks!`] and [`delegate!`]. A hook that is added to the list is therefore forwarded
//! everywhere, or the crate does not compile.

/// Declares a trait and the macro that lists its hooks.
///
/// The leading `($)` lets the inner macro have variables of its own.
macro_rules! hooks {
    (
        ($dollar:tt)
        $(#[$about:meta])*
        pub trait $trait:ident, listed by $list:ident;

        required { $( $(#[$meta:meta])* fn $required:ident $arguments:tt $(-> $result:ty)?; )* }

        provided {
            $(
                $(#[$provided_meta:meta])*
                fn $provided:ident $provided_arguments:tt $(-> $provided_result:ty)? $default:block
            )*
        }
    ) => {
        $(#[$about])*
        #[allow(unused_variables, reason = "a default ignores what it receives")]
        pub trait $trait {
            $( $(#[$meta])* fn $required $arguments $(-> $result)?; )*
            $(
                $(#[$provided_meta])*
                #[inline]
                fn $provided $provided_arguments $(-> $provided_result)? $default
            )*
        }

        macro_rules! $list {
            ($dollar then:ident!($dollar($dollar with:tt)*)) => {
                $dollar then! {
                    ($dollar($dollar with)*)
                    $( fn $required $arguments $(-> $result)?; )*
                    $( fn $provided $provided_arguments $(-> $provided_result)?; )*
                }
            };
        }
        #[allow(unused_imports, reason = "a list may be used in its own module alone")]
        pub(crate) use $list;
    };
}

/// Implements every listed hook for an enum: each calls the hook of the variant at hand.
macro_rules! forward {
    ($variants:tt $( fn $hook:ident $arguments:tt $(-> $result:ty)?; )*) => {
        $( $crate::parts::hooks::forward_one! { $variants fn $hook $arguments $(-> $result)? } )*
    };
}

/// One hook of [`forward!`].
macro_rules! forward_one {
    ($variants:tt fn $hook:ident(&self $(, $name:ident: $type:ty)* $(,)?) $(-> $result:ty)?) => {
        #[inline]
        fn $hook(&self $(, $name: $type)*) $(-> $result)? {
            $crate::parts::hooks::call_variant!(self $variants $hook ($($name),*))
        }
    };
    (
        $variants:tt fn $hook:ident(&mut self $(, $name:ident: $type:ty)* $(,)?) $(-> $result:ty)?
    ) => {
        #[inline]
        fn $hook(&mut self $(, $name: $type)*) $(-> $result)? {
            $crate::parts::hooks::call_variant!(self $variants $hook ($($name),*))
        }
    };
}

/// The call that [`forward_one!`] makes.
macro_rules! call_variant {
    ($self:ident ($($variant:ident)*) $hook:ident $arguments:tt) => {
        match $self {
            $( Self::$variant(part) => part.$hook $arguments, )*
        }
    };
}

/// Names the hooks that a wrapper implements itself, for [`delegate!`], as in
/// `own_hooks!(($) own: window)`.
macro_rules! own_hooks {
    (($dollar:tt) $name:ident: $($own:ident)*) => {
        macro_rules! $name {
            $( ($own $dollar($dollar item:tt)*) => {}; )*
            ($dollar other:ident $dollar($dollar item:tt)*) => { $dollar($dollar item)* };
        }
    };
}

/// Implements every listed hook that is not among the wrapper's own by a call of the same hook of
/// one of its fields.
macro_rules! delegate {
    ($to:tt $( fn $hook:ident $arguments:tt $(-> $result:ty)?; )*) => {
        $( $crate::parts::hooks::delegate_one! { $to fn $hook $arguments $(-> $result)? } )*
    };
}

/// One hook of [`delegate!`].
macro_rules! delegate_one {
    (
        ($field:ident but $own:ident)
        fn $hook:ident(&self $(, $name:ident: $type:ty)* $(,)?) $(-> $result:ty)?
    ) => {
        $own! { $hook
            #[inline]
            fn $hook(&self $(, $name: $type)*) $(-> $result)? { self.$field.$hook($($name),*) }
        }
    };
    (
        ($field:ident but $own:ident)
        fn $hook:ident(&mut self $(, $name:ident: $type:ty)* $(,)?) $(-> $result:ty)?
    ) => {
        $own! { $hook
            #[inline]
            fn $hook(&mut self $(, $name: $type)*) $(-> $result)? { self.$field.$hook($($name),*) }
        }
    };
}

/// Implements every listed hook for a holder by a call of the same hook of what it holds in
/// `control`. A hook that may change something is first called for each of `control`'s watchers.
macro_rules! show {
    (() $( fn $hook:ident $arguments:tt $(-> $result:ty)?; )*) => {
        $( $crate::parts::hooks::show_one! { fn $hook $arguments $(-> $result)? } )*
    };
}

/// One hook of [`show!`].
macro_rules! show_one {
    (fn $hook:ident(&self $(, $name:ident: $type:ty)* $(,)?) $(-> $result:ty)?) => {
        #[inline]
        fn $hook(&self $(, $name: $type)*) $(-> $result)? { self.control.$hook($($name),*) }
    };
    (fn $hook:ident(&mut self $(, $name:ident: $type:ty)* $(,)?) $(-> $result:ty)?) => {
        #[inline]
        fn $hook(&mut self $(, $name: $type)*) $(-> $result)? {
            for watcher in self.control.watchers() {
                watcher.$hook($($name),*);
            }
            self.control.$hook($($name),*)
        }
    };
}

pub(crate) use {
    call_variant, delegate, delegate_one, forward, forward_one, hooks, own_hooks, show, show_one,
};
